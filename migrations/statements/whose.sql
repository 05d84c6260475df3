-- whose: the environment that the ledger is of, and whether it is where it was.
SELECT
	i.environment,
	i.system_identifier = c.system_identifier
		AND i.database_oid = d.oid
		AND i.timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8) AS same
FROM heyaira_loop.ledger_identity i
CROSS JOIN pg_control_system() AS c
CROSS JOIN pg_database d
WHERE d.datname = current_database();
