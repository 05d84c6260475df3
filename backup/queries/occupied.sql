-- occupied: what a database holds that a new one does not. A few rows for a person,
-- each with the number of all.
SELECT o.kind, o.name, count(*) OVER () AS total
FROM (
	SELECT 1 AS rank, 'schema' AS kind, n.nspname::text AS name
	FROM pg_catalog.pg_namespace n
	WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'public')
		AND n.nspname !~ '^pg_(toast_)?temp_'
	UNION ALL
	SELECT 0, 'relation', c.oid::regclass::text
	FROM pg_catalog.pg_class c
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')
		AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
		AND n.nspname !~ '^pg_(toast_)?temp_'
	UNION ALL
	SELECT 2, 'function', p.oid::regprocedure::text
	FROM pg_catalog.pg_proc p
	JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
	WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
		AND n.nspname !~ '^pg_(toast_)?temp_'
	UNION ALL
	SELECT 3, 'type', t.oid::regtype::text
	FROM pg_catalog.pg_type t
	JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
	-- Those of relations and the arrays of others come and go with them.
	WHERE t.typtype IN ('b', 'd', 'e', 'r')
		AND t.typcategory <> 'A'
		AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
		AND n.nspname !~ '^pg_(toast_)?temp_'
	UNION ALL
	SELECT 4, 'extension', e.extname::text
	FROM pg_catalog.pg_extension e
	WHERE e.extname <> 'plpgsql'
	UNION ALL
	SELECT 5, 'large object', l.oid::text
	FROM pg_catalog.pg_largeobject_metadata l
	UNION ALL
	SELECT 6, 'event trigger', t.evtname::text
	FROM pg_catalog.pg_event_trigger t
	UNION ALL
	SELECT 7, 'publication', p.pubname::text
	FROM pg_catalog.pg_publication p
	UNION ALL
	SELECT 8, 'foreign data wrapper', w.fdwname::text
	FROM pg_catalog.pg_foreign_data_wrapper w
) AS o
ORDER BY o.rank, o.name
LIMIT 3
