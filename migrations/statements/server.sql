-- server: can this database hold a ledger, and may the role make its schema.
SELECT
	current_setting('server_version_num')::integer AS version,
	current_setting('server_encoding') AS encoding,
	current_database()::text AS database,
	current_user::text AS role,
	pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS read_only,
	to_regnamespace('heyaira_loop') IS NOT NULL AS there,
	has_database_privilege(current_database(), 'CREATE') AS own;
