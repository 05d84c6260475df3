-- export: the first statement of the exporting transaction. It gives the snapshot its
-- name and says what server it belongs to. One row.
SELECT
	pg_catalog.pg_export_snapshot() AS snapshot,
	pg_catalog.statement_timestamp() AS taken_at,
	pg_catalog.current_setting('server_version_num')::int AS version,
	(SELECT system_identifier FROM pg_catalog.pg_control_system())::text AS system_identifier,
	d.datname::text AS database,
	pg_catalog.pg_encoding_to_char(d.encoding)::text AS encoding,
	-- LC_COLLATE, and what of the locale differs from it; parseCollation reads it. The
	-- columns of the provider have other names in each release, so they are looked up.
	d.datcollate::text
	|| CASE WHEN d.datctype <> d.datcollate THEN ';ctype=' || d.datctype ELSE '' END
	|| coalesce(CASE to_jsonb(d) ->> 'datlocprovider'
		WHEN 'i' THEN ';icu=' || coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale')
		WHEN 'b' THEN ';builtin=' || (to_jsonb(d) ->> 'datlocale')
	END, '') AS collation,
	pg_catalog.pg_is_in_recovery() AS standby,
	pg_catalog.pg_database_size(d.oid) AS size,
	(
		SELECT coalesce(json_object_agg(e.extname, e.extversion ORDER BY e.extname), '{}')
		FROM pg_catalog.pg_extension e
	) AS extensions
FROM pg_catalog.pg_database d
WHERE d.datname = pg_catalog.current_database()
