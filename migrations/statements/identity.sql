-- identity: who a new ledger is. $1 text environment. An old one keeps its row.
INSERT INTO heyaira_loop.ledger_identity (environment, system_identifier, database_oid, timeline)
SELECT $1::text, c.system_identifier, d.oid, left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM pg_control_system() AS c
CROSS JOIN pg_database d
WHERE d.datname = current_database()
ON CONFLICT (singleton) DO NOTHING;
