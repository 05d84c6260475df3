-- status: two words for each scope, from rows alone, and every fact beside them.
-- $1 interval how old a look may be before nobody is looking, $2 text work type, $3 text
-- scope ('' is all).
-- state is the worst fact that holds: what cannot be seen outranks what is known, and work
-- on its way is no excuse for anything. activity is what happens to the scope's item.
WITH busy AS MATERIALIZED (
	SELECT work_type, count(*) AS leased
	FROM heyaira_loop.work_item
	WHERE state = 'leased'
	GROUP BY work_type
),
facts AS MATERIALIZED (
	SELECT
		s.*,
		t.blocked_wait,
		t.max_running AS type_max_running,
		coalesce(b.leased, 0) AS leased,
		c.generation AS covered_generation,
		c.covered_at,
		c.taken_at,
		c.marker IS NOT NULL AS is_covered,
		c.item_id AS covered_item,
		act.id AS item_id,
		act.state AS item_state,
		act.phase,
		act.run_at,
		act.owner,
		act.started_at,
		act.lease_until,
		act.progress_bytes,
		act.progress_stage,
		act.claims,
		act.failures,
		act.crashes,
		bad.id AS bad_item,
		bad.state AS bad_state,
		CASE WHEN act.last_error IS NOT NULL THEN act.last_error ELSE bad.last_error END AS last_error,
		CASE WHEN act.last_error IS NOT NULL THEN act.last_class ELSE bad.last_class END AS last_class,
		coalesce(act.failures > act.failures_base OR act.crashes > act.crashes_base, false) AS has_failed,
		coalesce(act.last_class = 'blocked', false) AS is_blocked,
		-- A look that failed, or that is missing for too long. A scope that was registered
		-- just now has that long to be looked at.
		s.watched AND (
			s.observe_error IS NOT NULL
			OR coalesce(s.observed_at, s.registered_at) < statement_timestamp() - $1::interval) AS unobservable,
		coalesce(s.uncovered_since < statement_timestamp() - s.rpo, false)
			OR coalesce(s.next_run_at < statement_timestamp() - s.rpo, false) AS overdue,
		s.uncovered_since IS NOT NULL
			OR act.id IS NOT NULL
			OR coalesce(s.next_run_at <= statement_timestamp(), false) AS due,
		s.paused AND coalesce(s.paused_until > statement_timestamp(), true)
			OR t.paused AND coalesce(t.paused_until > statement_timestamp(), true) AS is_paused,
		t.coalesces AND c.scope_key IS NULL AS is_new
	FROM heyaira_loop.scope s
	JOIN heyaira_loop.work_type t ON t.name = s.work_type
	LEFT JOIN busy b USING (work_type)
	LEFT JOIN heyaira_loop.coverage c USING (work_type, scope_key)
	-- Three looks, one for each partial index: a single one would read the scope's history.
	LEFT JOIN LATERAL (
		SELECT *
		FROM (
			SELECT w.*
			FROM heyaira_loop.work_item w
			WHERE w.work_type = s.work_type AND w.scope_key = s.scope_key AND w.coalesces AND w.state IN ('queued', 'leased')
			UNION ALL
			(
				SELECT w.*
				FROM heyaira_loop.work_item w
				WHERE w.work_type = s.work_type AND w.scope_key = s.scope_key AND NOT w.coalesces AND w.state = 'leased'
				LIMIT 1
			)
			UNION ALL
			(
				SELECT w.*
				FROM heyaira_loop.work_item w
				WHERE w.work_type = s.work_type AND w.scope_key = s.scope_key AND NOT w.coalesces AND w.state = 'queued'
				ORDER BY w.priority, w.run_at, w.id
				LIMIT 1
			)
		) AS active
		LIMIT 1
	) AS act ON true
	-- An ended item counts until something newer was proven.
	LEFT JOIN LATERAL (
		SELECT w.id, w.state, w.last_error, w.last_class
		FROM heyaira_loop.work_item w
		WHERE w.work_type = s.work_type
			AND w.scope_key = s.scope_key
			AND w.state IN ('failed', 'quarantined')
			AND w.observed_ticket > coalesce(c.ticket, 0)
		ORDER BY w.id DESC
		LIMIT 1
	) AS bad ON true
	WHERE ($2::text = '' OR s.work_type = $2::text)
		AND ($3::text = '' OR s.scope_key = $3::text)
),
words AS (
	SELECT
		f.*,
		f.bad_item IS NOT NULL OR f.has_failed OR f.is_blocked AS failing,
		f.item_state = 'leased' AND f.lease_until > statement_timestamp() AS running,
		CASE
			WHEN f.item_id IS NULL THEN ''
			WHEN f.item_state = 'leased' AND f.lease_until <= statement_timestamp() THEN 'expired'
			WHEN f.item_state = 'leased' AND f.phase = 'verify' THEN 'verifying'
			WHEN f.item_state = 'leased' AND f.started_at IS NULL THEN 'claimed'
			WHEN f.item_state = 'leased' THEN 'running'
			WHEN f.run_at <= statement_timestamp() THEN 'queued'
			WHEN f.is_blocked THEN 'blocked'
			WHEN f.has_failed THEN 'backing off'
			ELSE 'waiting'
		END AS activity
	FROM facts f
)
SELECT
	work_type,
	scope_key,
	CASE
		WHEN unobservable THEN 'unobservable'
		WHEN failing THEN 'failing'
		WHEN overdue THEN 'overdue'
		WHEN due THEN 'due'
		WHEN gate IS NOT NULL THEN 'gated'
		WHEN is_paused THEN 'paused'
		WHEN is_new THEN 'new'
		ELSE 'idle'
	END AS state,
	activity,
	-- The setting that holds the item back.
	CASE
		WHEN activity IN ('', 'expired', 'verifying', 'claimed', 'running') THEN ''
		WHEN is_paused THEN 'pause'
		WHEN gate IS NOT NULL THEN 'gate'
		WHEN activity = 'blocked' THEN 'blocked_wait'
		WHEN activity = 'backing off' THEN 'backoff'
		WHEN activity = 'waiting' AND streak > 0 THEN 'backoff'
		WHEN activity = 'waiting' AND run_at <= covered_at + min_interval THEN 'min_interval'
		WHEN activity = 'waiting' THEN 'window'
		WHEN leased >= type_max_running THEN 'max_running'
		ELSE ''
	END AS held_by,
	unobservable, failing, overdue, due,
	gate IS NOT NULL AS gated, is_paused, is_new, coalesce(running, false) AS running,
	coalesce(gate, '') AS gate,
	coalesce(pause_note, '') AS pause_note,
	paused_until,
	min_interval,
	coalesce(rpo, '0') AS rpo,
	generation,
	streak,
	registered_at,
	observed_at,
	coalesce(observe_error, '') AS observe_error,
	uncovered_since,
	next_run_at,
	coalesce(covered_generation, 0) AS covered_generation,
	CASE WHEN is_covered THEN covered_at END AS covered_at,
	CASE WHEN is_covered THEN taken_at END AS taken_at,
	coalesce(covered_item, 0) AS covered_item,
	coalesce(item_id, 0) AS item_id,
	coalesce(phase, '') AS phase,
	run_at,
	coalesce(owner, '') AS owner,
	started_at,
	lease_until,
	coalesce(progress_bytes, 0) AS progress_bytes,
	coalesce(progress_stage, '') AS progress_stage,
	coalesce(claims, 0) AS claims,
	coalesce(failures, 0) AS failures,
	coalesce(crashes, 0) AS crashes,
	coalesce(last_error, '') AS last_error,
	coalesce(last_class, '') AS last_class,
	coalesce(bad_item, 0) AS bad_item,
	coalesce(bad_state, '') AS bad_state
FROM words
ORDER BY work_type, scope_key;
