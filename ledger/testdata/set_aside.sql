-- set_aside: an item is quarantined as it stands, by hand.
UPDATE heyaira_loop.work_item
SET state = 'quarantined', finished_at = clock_timestamp(), owner = NULL, lease_until = NULL, started_at = NULL
WHERE id = $1::bigint;
