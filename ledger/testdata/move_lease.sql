-- move_lease: a lease ends at now + $2.
UPDATE heyaira_loop.work_item
SET lease_until = clock_timestamp() + $2::interval
WHERE id = $1::bigint AND state = 'leased'
RETURNING id;
