-- scope_set: what the scope says beside its type's policy; NULL leaves that in force.
-- $1 text work type, $2 text scope, $3 interval lease_ttl, $4 integer max_failures,
-- $5 integer max_running.
UPDATE heyaira_loop.scope
SET lease_ttl = $3::interval,
	max_failures = $4::integer,
	max_running = $5::integer
WHERE work_type = $1::text AND scope_key = $2::text
RETURNING scope_key;
