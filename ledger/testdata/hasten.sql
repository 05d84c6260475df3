-- hasten: everything that is queued is eligible now.
UPDATE heyaira_loop.work_item
SET run_at = clock_timestamp()
WHERE state = 'queued';
