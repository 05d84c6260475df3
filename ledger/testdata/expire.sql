-- expire: every lease is over.
UPDATE heyaira_loop.work_item
SET lease_until = clock_timestamp() - '1 second'::interval
WHERE state = 'leased';
