-- register_lock: the first of register's statements, in one transaction. Each host reads
-- what all hosts allow; two at once would each miss the other's.
SELECT pg_advisory_xact_lock(hashtextextended('heyaira_loop.register', 0));
