-- marker: what tells a change of the logical content, in one statement and one turn.
-- $1 boolean: read the sequences too. One row; text columns are compared as they are.
--
-- A statement of its own, never inside a longer transaction: the covered pair of
-- counters and snapshot comes from two reads in this order, counters first. A
-- statement takes its snapshot before its counters are computed, so its own snap
-- and cnt must not be paired either.
--
-- Every expression is one that PostgreSQL 13 to 18 have; pg_stat_bgwriter lost
-- columns in 17 and kept this one, pg_parameter_acl came with 15.
SELECT
	-- Behind a pooler this is not the process that the handshake named.
	pg_catalog.pg_backend_pid() AS backend,
	-- The loop's own ledger is never a protected database.
	pg_catalog.to_regclass('heyaira_loop.ledger_identity') IS NOT NULL AS is_ledger,
	-- May the counters be believed? A setting of a role or database shows only here.
	pg_catalog.current_setting('track_counts') = 'on' AND NOT EXISTS (
		SELECT
		FROM pg_catalog.pg_db_role_setting r
		CROSS JOIN LATERAL unnest(r.setconfig) AS s (setting)
		WHERE r.setdatabase IN (0, d.oid) AND s.setting LIKE 'track_counts=%'
	) AS counting,
	-- Identity: cluster, database, timeline or role, major version.
	(SELECT system_identifier FROM pg_catalog.pg_control_system())::text
	|| '/' || d.oid::text
	|| '/' || CASE
		WHEN pg_catalog.pg_is_in_recovery() THEN 'standby'
		ELSE left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8)
	END
	|| '/' || (pg_catalog.current_setting('server_version_num')::int / 10000)::text AS id,
	-- Incarnation: a restart moves the first, a crash of one backend the second only,
	-- a reset of the counters the third. Microseconds since the epoch.
	(extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint::text
	|| '/' || coalesce((SELECT (extract(epoch FROM w.stats_reset) * 1000000)::bigint::text FROM pg_catalog.pg_stat_bgwriter w), '-')
	|| '/' || coalesce((extract(epoch FROM pg_catalog.pg_stat_get_db_stat_reset_time(d.oid)) * 1000000)::bigint::text, '-') AS inc,
	-- Visibility: the same text in one incarnation is the same set of transactions.
	pg_catalog.pg_current_snapshot()::text AS snap,
	-- On a standby the text leaves out running transactions; the last replayed commit
	-- or abort makes up for it.
	CASE
		WHEN pg_catalog.pg_is_in_recovery()
			THEN coalesce((extract(epoch FROM pg_catalog.pg_last_xact_replay_timestamp()) * 1000000)::bigint::text, '-')
		ELSE ''
	END AS replay,
	-- Sequences, for nextval leaves no transaction id: how many, how many unreadable,
	-- hash. It takes a lock on each of them, waits for ALTER SEQUENCE, and can run out
	-- of room for locks: hence $1.
	CASE WHEN $1::boolean THEN (
		SELECT count(*)::text
			|| ':' || (count(*) FILTER (WHERE NOT q.readable))::text
			|| ':' || encode(sha256(convert_to(
				coalesce(string_agg(q.seqrelid::text || '=' || coalesce(q.value::text, '-'), ',' ORDER BY q.seqrelid), ''),
				'UTF8')), 'hex')
		FROM (
			SELECT
				s.seqrelid,
				a.readable,
				CASE WHEN a.readable THEN pg_catalog.pg_sequence_last_value(s.seqrelid) END AS value
			FROM pg_catalog.pg_sequence s
			JOIN pg_catalog.pg_class c
				ON c.oid = s.seqrelid
				AND (c.relpersistence = 'p' OR c.relpersistence = 'u' AND NOT pg_catalog.pg_is_in_recovery())
				AND c.relnamespace IS DISTINCT FROM pg_catalog.to_regnamespace('heyaira_loop')
			CROSS JOIN LATERAL (SELECT pg_catalog.has_sequence_privilege(s.seqrelid, 'SELECT,USAGE')) AS a (readable)
		) AS q
	) ELSE '' END AS seq,
	-- Rows inserted, updated and deleted in the whole database, catalogs and large
	-- objects included, less what ANALYZE and the loop itself write. It does not fall
	-- when a table is dropped and costs the same with 20,000 tables.
	(pg_catalog.pg_stat_get_db_tuples_inserted(d.oid) - x.inserted)::text
	|| '/' || (pg_catalog.pg_stat_get_db_tuples_updated(d.oid) - x.updated)::text
	|| '/' || (pg_catalog.pg_stat_get_db_tuples_deleted(d.oid) - x.deleted)::text AS cnt,
	-- Roles, memberships, settings, tablespaces and the rest of the shared catalogs.
	g.changes AS glob
FROM pg_catalog.pg_database d
CROSS JOIN LATERAL (
	SELECT
		coalesce(sum(pg_catalog.pg_stat_get_tuples_inserted(e.oid)), 0)::bigint AS inserted,
		coalesce(sum(pg_catalog.pg_stat_get_tuples_updated(e.oid)), 0)::bigint AS updated,
		coalesce(sum(pg_catalog.pg_stat_get_tuples_deleted(e.oid)), 0)::bigint AS deleted
	FROM (
		SELECT c.oid, c.reltoastrelid
		FROM pg_catalog.pg_class c
		WHERE c.oid IN ('pg_catalog.pg_statistic'::regclass, 'pg_catalog.pg_statistic_ext_data'::regclass)
		UNION ALL
		SELECT c.oid, c.reltoastrelid
		FROM pg_catalog.pg_class c
		-- The first condition is constant: without the schema pg_class is not read.
		WHERE pg_catalog.to_regnamespace('heyaira_loop') IS NOT NULL
			AND c.relnamespace = pg_catalog.to_regnamespace('heyaira_loop')
			AND c.relkind = 'r'
	) AS t
	CROSS JOIN LATERAL (VALUES (t.oid), (nullif(t.reltoastrelid, 0))) AS e (oid)
) AS x
CROSS JOIN LATERAL (
	SELECT string_agg((
			pg_catalog.pg_stat_get_tuples_inserted(r.oid)
			+ pg_catalog.pg_stat_get_tuples_updated(r.oid)
			+ pg_catalog.pg_stat_get_tuples_deleted(r.oid))::text, ',' ORDER BY r.oid) AS changes
	FROM (
		SELECT pg_catalog.to_regclass('pg_catalog.' || n.name)::oid AS oid
		FROM unnest(ARRAY[
			'pg_authid', 'pg_auth_members', 'pg_db_role_setting', 'pg_database', 'pg_tablespace',
			'pg_subscription', 'pg_shdescription', 'pg_shseclabel', 'pg_parameter_acl']) AS n (name)
	) AS r
	WHERE r.oid IS NOT NULL
) AS g
WHERE d.datname = pg_catalog.current_database()
