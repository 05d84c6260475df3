-- lock: one migrate at a time in this database, until the transaction ends. Of the
-- transaction, since a pooler gives a session's lock to whoever comes next.
SELECT pg_advisory_xact_lock(hashtextextended('heyaira_loop.migrate', 0));
