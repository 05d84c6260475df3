-- pause_scope: $3 interval for how long from now, NULL for ever.
UPDATE heyaira_loop.scope
SET paused = true,
	paused_until = clock_timestamp() + $3::interval
WHERE work_type = $1::text AND scope_key = $2::text
RETURNING scope_key;
