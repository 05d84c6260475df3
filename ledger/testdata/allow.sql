-- allow: a work type's policy, newly or again. Caps are NULL where there is none.
INSERT INTO heyaira_loop.work_type (
	name, coalesces, lease_ttl, max_running, max_running_per_host, max_per_minute,
	max_failures, max_crashes, max_claims, backoff_base, backoff_cap, blocked_wait, goes_first)
VALUES (
	$1::text, $2::boolean, $3::interval, $4::integer, $5::integer, $6::integer,
	$7::integer, $8::integer, $9::integer, $10::interval, $11::interval, $12::interval, $13::boolean)
ON CONFLICT (name) DO UPDATE
SET coalesces = EXCLUDED.coalesces,
	lease_ttl = EXCLUDED.lease_ttl,
	max_running = EXCLUDED.max_running,
	max_running_per_host = EXCLUDED.max_running_per_host,
	max_per_minute = EXCLUDED.max_per_minute,
	max_failures = EXCLUDED.max_failures,
	max_crashes = EXCLUDED.max_crashes,
	max_claims = EXCLUDED.max_claims,
	backoff_base = EXCLUDED.backoff_base,
	backoff_cap = EXCLUDED.backoff_cap,
	blocked_wait = EXCLUDED.blocked_wait,
	goes_first = EXCLUDED.goes_first;
