-- settings: what every session of the ledger needs and its database does not set yet, as
-- statements for its owner, and whether this role may run them. They stand on the
-- database because that holds through any pooler. synchronous_commit off would hand a
-- fence out twice after a crash; jit costs more than the statements it compiles.
SELECT
	format('ALTER DATABASE %I SET %s = %L', d.datname, wanted.name, wanted.value) AS statement,
	pg_has_role(d.datdba, 'USAGE') AS allowed
FROM pg_catalog.pg_database d
CROSS JOIN (
	VALUES
		('statement_timeout', '30s'),
		('lock_timeout', '5s'),
		('idle_in_transaction_session_timeout', '60s'),
		('synchronous_commit', 'on'),
		('jit', 'off')
) AS wanted (name, value)
WHERE d.datname = current_database()
	AND NOT EXISTS (
		SELECT
		FROM pg_catalog.pg_db_role_setting s
		WHERE s.setdatabase = d.oid
			AND s.setrole = 0
			AND wanted.name || '=' || wanted.value = ANY (s.setconfig));
