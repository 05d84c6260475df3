-- move_run: queued work is eligible at now + $2.
UPDATE heyaira_loop.work_item
SET run_at = clock_timestamp() + $2::interval
WHERE id = $1::bigint AND state = 'queued'
RETURNING id;
