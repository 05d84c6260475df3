-- born: an item was made at now + $2, to run at now + $3.
UPDATE heyaira_loop.work_item
SET created_at = clock_timestamp() + $2::interval,
	run_at = clock_timestamp() + $3::interval
WHERE id = $1::bigint AND state = 'queued';
