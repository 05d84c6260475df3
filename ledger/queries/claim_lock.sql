-- claim_lock: the first of claim's statements, in the same transaction and turn.
-- $1 text[] work types. It must be a statement of its own: the count that makes a
-- cap exact has to be taken on a snapshot that is younger than the lock.
SELECT name, goes_first
FROM heyaira_loop.work_type
WHERE name = ANY ($1::text[])
ORDER BY name
FOR NO KEY UPDATE;
