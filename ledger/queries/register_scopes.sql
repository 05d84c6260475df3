-- register_scopes: scopes of the configuration that the ledger does not know yet, or
-- whose policy differs. $1 text[] work types, $2 text[] scopes, $3 interval[] lease_ttl,
-- $4 integer[] max_failures, $5 integer[] max_running (NULL leaves the type's), $6
-- interval[] min_interval, $7 interval[] rpo, $8 boolean[] watched.
INSERT INTO heyaira_loop.scope AS s
	(work_type, scope_key, generation, lease_ttl, max_failures, max_running, min_interval, rpo, watched)
SELECT a.work_type, a.scope_key, (i.epoch::bigint << 40) + 1,
	a.lease_ttl, a.max_failures, a.max_running, coalesce(a.min_interval, '0'), a.rpo, a.watched
FROM unnest($1::text[], $2::text[], $3::interval[], $4::integer[], $5::integer[], $6::interval[], $7::interval[], $8::boolean[])
	AS a (work_type, scope_key, lease_ttl, max_failures, max_running, min_interval, rpo, watched)
CROSS JOIN heyaira_loop.ledger_identity i
ORDER BY a.work_type, a.scope_key
ON CONFLICT (work_type, scope_key) DO UPDATE
SET lease_ttl = EXCLUDED.lease_ttl,
	max_failures = EXCLUDED.max_failures,
	max_running = EXCLUDED.max_running,
	min_interval = EXCLUDED.min_interval,
	rpo = EXCLUDED.rpo,
	watched = EXCLUDED.watched
WHERE (s.lease_ttl, s.max_failures, s.max_running, s.min_interval, s.rpo, s.watched)
	IS DISTINCT FROM (EXCLUDED.lease_ttl, EXCLUDED.max_failures, EXCLUDED.max_running, EXCLUDED.min_interval, EXCLUDED.rpo, EXCLUDED.watched);
