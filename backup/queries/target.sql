-- target: which database a restore would write into. One row.
SELECT
	pg_catalog.current_setting('server_version_num')::int AS version,
	pg_catalog.current_database()::text AS database,
	current_user::text AS role,
	(SELECT d.datistemplate FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) AS template,
	pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only') = 'on' AS read_only,
	-- A hardened server may keep the identifier to itself; the name has to do then.
	CASE
		WHEN pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')
			THEN (SELECT system_identifier FROM pg_catalog.pg_control_system())::text
		ELSE ''
	END AS system_identifier
