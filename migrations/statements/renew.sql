-- renew: a fresh clone of a ledger's database becomes a ledger of its own.
-- $1 text environment. Nothing happens to a ledger with history: that it was cloned
-- must show.
INSERT INTO heyaira_loop.ledger_identity (environment, system_identifier, database_oid, timeline)
SELECT $1::text, c.system_identifier, d.oid, left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM pg_control_system() AS c
CROSS JOIN pg_database d
WHERE d.datname = current_database()
	AND NOT EXISTS (SELECT FROM heyaira_loop.work_event)
	AND NOT EXISTS (SELECT FROM heyaira_loop.scope)
ON CONFLICT (singleton) DO UPDATE
SET id = gen_random_uuid(),
	environment = EXCLUDED.environment,
	system_identifier = EXCLUDED.system_identifier,
	database_oid = EXCLUDED.database_oid,
	timeline = EXCLUDED.timeline,
	adopted_at = clock_timestamp();
