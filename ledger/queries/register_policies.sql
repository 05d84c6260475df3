-- register_policies: what this host's configuration allows, as it is now.
-- $1 text host, $2 text digest of its configuration, $3 text[] work types, $4 text[]
-- digests of their policies, $5 integer[] max_running, $6 integer[]
-- max_running_per_host, $7 integer[] max_per_minute, $8 integer[] max_queued.
WITH gone AS (
	DELETE FROM heyaira_loop.policy_seen
	WHERE host = $1::text AND work_type <> ALL ($3::text[])
)
INSERT INTO heyaira_loop.policy_seen AS p
	(host, digest, work_type, policy, max_running, max_running_per_host, max_per_minute, max_queued)
SELECT $1::text, $2::text, a.*
FROM unnest($3::text[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::integer[]) AS a
ON CONFLICT (host, work_type) DO UPDATE
SET digest = EXCLUDED.digest,
	policy = EXCLUDED.policy,
	max_running = EXCLUDED.max_running,
	max_running_per_host = EXCLUDED.max_running_per_host,
	max_per_minute = EXCLUDED.max_per_minute,
	max_queued = EXCLUDED.max_queued,
	seen_at = statement_timestamp();
