-- tables: how many tables a restore brought back, partitioned ones and partitions
-- each counted.
SELECT count(*)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p')
	AND n.nspname NOT IN ('pg_catalog', 'information_schema')
	AND n.nspname !~ '^pg_(toast_)?temp_'
