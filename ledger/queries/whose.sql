-- whose: who the ledger is, whether it is where it was, and whether what is in force
-- lets it keep its promises. Every step asks this first, in the same turn as its own
-- question. $1 text host that asks.
-- A standby knows no timeline of its own; it is refused for being one.
SELECT
	i.id::text AS id,
	i.former::text[] AS former,
	i.environment,
	i.epoch,
	i.min_program,
	v.version AS schema_version,
	i.system_identifier = c.system_identifier AS same_system,
	i.database_oid = d.oid AS same_database,
	CASE
		WHEN pg_is_in_recovery() THEN true
		ELSE i.timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8)
	END AS same_timeline,
	pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS read_only,
	current_setting('synchronous_commit') AS synchronous_commit,
	current_setting('server_encoding') AS server_encoding,
	current_setting('client_encoding') AS client_encoding,
	statement_timestamp() AS now,
	-- An old registration is renewed, so that the caps of hosts that are gone fall away.
	(
		SELECT max(p.digest)
		FROM heyaira_loop.policy_seen p
		WHERE p.host = $1::text AND p.seen_at > statement_timestamp() - interval '1 day'
	) AS policy,
	(
		SELECT b.ticked_at
		FROM heyaira_loop.beat b
		WHERE b.host = $1::text
	) AS beat,
	(
		SELECT coalesce(json_object_agg(k.name, k.id), '{}')
		FROM heyaira_loop.known_store k
	) AS stores
FROM heyaira_loop.ledger_identity i
CROSS JOIN heyaira_loop.schema_version v
CROSS JOIN pg_control_system() AS c
CROSS JOIN pg_database d
WHERE d.datname = current_database();
