-- register_types: the policy in force: of the caps the strictest that any host allows,
-- of the rest what was registered last.
-- $1 text[] work types, $2 boolean[] coalesces, $3 interval[] lease_ttl, $4 integer[]
-- max_failures, $5 integer[] max_crashes, $6 integer[] max_claims, $7 interval[]
-- backoff_base, $8 interval[] backoff_cap, $9 boolean[] backoff_flat, $10 interval[]
-- blocked_wait, $11 interval[] revive_after, $12 boolean[] goes_first. NULL is the
-- default.
-- A host that neither registered nor ticked for a week is gone, and so are its caps.
WITH asked AS (
	SELECT *
	FROM unnest($1::text[], $2::boolean[], $3::interval[], $4::integer[], $5::integer[], $6::integer[],
			$7::interval[], $8::interval[], $9::boolean[], $10::interval[], $11::interval[], $12::boolean[])
		AS a (name, coalesces, lease_ttl, max_failures, max_crashes, max_claims,
			backoff_base, backoff_cap, backoff_flat, blocked_wait, revive_after, goes_first)
)
INSERT INTO heyaira_loop.work_type AS t
	(name, coalesces, lease_ttl, max_running, max_running_per_host, max_per_minute, max_queued,
	max_failures, max_crashes, max_claims, backoff_base, backoff_cap, backoff_flat, blocked_wait, revive_after, goes_first)
SELECT
	a.name, a.coalesces, coalesce(a.lease_ttl, '60 seconds'),
	cap.max_running, cap.max_running_per_host, cap.max_per_minute, cap.max_queued,
	coalesce(a.max_failures, 5), coalesce(a.max_crashes, 3), coalesce(a.max_claims, 50),
	coalesce(a.backoff_base, '5 seconds'), coalesce(a.backoff_cap, '1 hour'), a.backoff_flat,
	coalesce(a.blocked_wait, '15 minutes'), a.revive_after, a.goes_first
FROM asked a
CROSS JOIN LATERAL (
	SELECT
		min(p.max_running) AS max_running,
		min(p.max_running_per_host) AS max_running_per_host,
		min(p.max_per_minute) AS max_per_minute,
		min(p.max_queued) AS max_queued
	FROM heyaira_loop.policy_seen p
	LEFT JOIN heyaira_loop.beat b USING (host)
	WHERE p.work_type = a.name
		AND greatest(p.seen_at, b.ticked_at) > statement_timestamp() - interval '7 days'
) AS cap
ORDER BY a.name
ON CONFLICT (name) DO UPDATE
SET coalesces = EXCLUDED.coalesces,
	lease_ttl = EXCLUDED.lease_ttl,
	max_running = EXCLUDED.max_running,
	max_running_per_host = EXCLUDED.max_running_per_host,
	max_per_minute = EXCLUDED.max_per_minute,
	max_queued = EXCLUDED.max_queued,
	max_failures = EXCLUDED.max_failures,
	max_crashes = EXCLUDED.max_crashes,
	max_claims = EXCLUDED.max_claims,
	backoff_base = EXCLUDED.backoff_base,
	backoff_cap = EXCLUDED.backoff_cap,
	backoff_flat = EXCLUDED.backoff_flat,
	blocked_wait = EXCLUDED.blocked_wait,
	revive_after = EXCLUDED.revive_after,
	goes_first = EXCLUDED.goes_first;
