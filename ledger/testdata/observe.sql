-- observe: what an observer saw of a scope, as ensure notes it.
UPDATE heyaira_loop.scope
SET observed_marker = $3::text,
	observed_ticket = $4::bigint,
	uncovered_since = coalesce(uncovered_since, clock_timestamp())
WHERE work_type = $1::text AND scope_key = $2::text;
