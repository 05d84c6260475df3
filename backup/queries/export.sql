-- export: the first statement of the exporting transaction. It gives the snapshot its
-- name and says what server it belongs to. One row.
SELECT
	pg_catalog.pg_export_snapshot() AS snapshot,
	pg_catalog.statement_timestamp() AS taken_at,
	pg_catalog.current_setting('server_version_num')::int AS version,
	(SELECT system_identifier FROM pg_catalog.pg_control_system())::text AS system_identifier,
	d.datname::text AS database,
	pg_catalog.pg_encoding_to_char(d.encoding)::text AS encoding,
	d.datcollate::text AS collation,
	pg_catalog.pg_is_in_recovery() AS standby,
	pg_catalog.pg_database_size(d.oid) AS size,
	(
		SELECT coalesce(json_object_agg(e.extname, e.extversion ORDER BY e.extname), '{}')
		FROM pg_catalog.pg_extension e
	) AS extensions
FROM pg_catalog.pg_database d
WHERE d.datname = pg_catalog.current_database()
