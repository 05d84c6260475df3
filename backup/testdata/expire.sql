-- expire: every lease has ended a minute ago.
UPDATE heyaira_loop.work_item
SET lease_until = statement_timestamp() - interval '1 minute'
WHERE state = 'leased'
