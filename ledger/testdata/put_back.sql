-- put_back: a quarantined item is queued again as it stands, by hand.
UPDATE heyaira_loop.work_item
SET state = 'queued', finished_at = NULL, run_at = clock_timestamp()
WHERE id = $1::bigint AND state = 'quarantined';
