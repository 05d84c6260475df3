-- due: whatever waits is due now.
UPDATE heyaira_loop.work_item
SET run_at = statement_timestamp()
WHERE state = 'queued'
