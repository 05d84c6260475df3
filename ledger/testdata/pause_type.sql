-- pause_type: $2 interval for how long from now, NULL for ever.
UPDATE heyaira_loop.work_type
SET paused = true,
	paused_until = clock_timestamp() + $2::interval
WHERE name = $1::text
RETURNING name;
