-- kinds: everything that has happened.
SELECT array_agg(DISTINCT kind)
FROM heyaira_loop.work_event;
