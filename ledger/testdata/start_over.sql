-- start_over: everything that is not on its way any more, or never was, is gone, and
-- one item of the scope is queued as if new; counters and chain go on.
UPDATE heyaira_loop.work_item
SET state = 'queued',
	phase = 'run',
	run_at = clock_timestamp() - '1 second'::interval,
	owner = NULL, lease_until = NULL, started_at = NULL, finished_at = NULL, evidence = NULL,
	result = NULL, result_marker = NULL, result_ticket = NULL, result_at = NULL,
	claims_base = claims, failures_base = failures, crashes_base = crashes;
