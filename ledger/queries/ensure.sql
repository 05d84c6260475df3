-- ensure: turn the observations of a whole tick into work.
-- $1 text[] work types, $2 text[] scopes, $3 text[] keys (the business key of work that
-- does not coalesce), $4 text[] markers, $5 text[] payloads, $6 bigint the tick's
-- ticket, $7 timestamptz[] occurrence, $8 timestamptz[] the occurrence after it (both
-- NULL without a schedule), $9 timestamptz[] not before, $10 boolean[] forced: even if
-- covered, and with no regard to min_interval, $11 boolean[] now: forced by a person,
-- who waits for no back-off and makes ended work anew, $12 text[] memo ('null' clears).
-- One row an observation, in their order. word: created, advanced, running, covered,
-- duplicate, failed, cancelled, stale, raced, full, paused; unkeyed where the key or the
-- marker is empty, NULL where the scope is not registered.
--
-- It cannot fail for one scope and so hold back the others: inserts do nothing on any
-- conflict, advances skip rows that someone holds; both answer raced, and the next beat
-- looks again.
WITH asked AS MATERIALIZED (
	SELECT *
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $7::timestamptz[], $8::timestamptz[],
			$9::timestamptz[], $10::boolean[], $11::boolean[], $12::text[])
		WITH ORDINALITY AS a (work_type, scope_key, key, marker, payload, occurrence, following,
			not_before, forced, urgent, memo, n)
),
-- The last observation of a thing stands for all in the same call: a row can be changed
-- once in a statement.
obs AS MATERIALIZED (
	SELECT DISTINCT ON (a.work_type, a.scope_key, CASE WHEN NOT t.coalesces THEN a.key END)
		a.*,
		t.coalesces,
		t.backoff_cap,
		t.max_queued,
		s.generation,
		s.min_interval,
		s.streak,
		s.next_run_at,
		s.last_item,
		s.paused AND coalesce(s.paused_until > statement_timestamp(), true)
			OR t.paused AND coalesce(t.paused_until > statement_timestamp(), true) AS is_paused,
		d.digest,
		-- A marker that comes back after another was covered is new work.
		CASE WHEN t.coalesces THEN d.digest || '@' || heyaira_loop.fence_text(s.generation) ELSE a.key END AS dedupe_key
	FROM asked a
	JOIN heyaira_loop.work_type t ON t.name = a.work_type
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	CROSS JOIN LATERAL (
		SELECT CASE WHEN t.coalesces THEN encode(sha256(convert_to(a.marker, 'UTF8')), 'hex') END
	) AS d (digest)
	ORDER BY a.work_type, a.scope_key, CASE WHEN NOT t.coalesces THEN a.key END, a.n DESC
),
-- Counted once a type and no further than the limit. The cap is soft: tickers at the same
-- moment may each fill the room that is left.
room AS MATERIALIZED (
	SELECT
		t.name,
		t.max_queued - (
			SELECT count(*)
			FROM (
				SELECT
				FROM heyaira_loop.work_item q
				WHERE q.work_type = t.name AND NOT q.coalesces AND q.state = 'queued'
				LIMIT t.max_queued
			) AS waiting
		) AS free
	FROM heyaira_loop.work_type t
	WHERE NOT t.coalesces
		AND t.max_queued IS NOT NULL
		AND t.name = ANY ($1::text[])
),
seen AS MATERIALIZED (
	SELECT
		o.*,
		act.id AS active_id,
		act.generation AS active_generation,
		c.covered_at,
		c.marker AS covered_marker,
		dup.id AS dup_id,
		o.coalesces AND c.marker IS DISTINCT FROM o.marker AS uncovered,
		CASE
			WHEN CASE WHEN o.coalesces THEN o.marker ELSE o.key END = '' THEN 'unkeyed'
			WHEN o.occurrence IS NOT NULL AND o.next_run_at IS DISTINCT FROM o.occurrence THEN 'raced'
			WHEN o.is_paused THEN 'paused'
			-- A business key is used once, whoever asks.
			WHEN NOT o.coalesces THEN CASE
				WHEN dup.state IN ('failed', 'quarantined') THEN 'failed'
				WHEN dup.state = 'cancelled' THEN 'cancelled'
				WHEN dup.state = 'leased' THEN 'running'
				WHEN dup.id IS NOT NULL THEN 'duplicate'
				ELSE 'create'
			END
			WHEN c.marker = o.marker AND NOT o.forced THEN 'covered'
			WHEN c.ticket > $6::bigint THEN 'stale'
			WHEN act.state = 'leased' THEN 'running'
			-- A queued item that waits for its verify has its snapshot already: to advance
			-- it would cover what was never dumped.
			WHEN act.phase = 'verify' THEN CASE WHEN o.urgent AND act.run_at > statement_timestamp() THEN 'hasten' ELSE 'running' END
			WHEN act.observed_ticket >= $6::bigint THEN 'stale'
			-- An item for the same marker, or one that cannot take the marker's key because
			-- an ended one has it: it will run, and capture what there is.
			WHEN act.observed_marker = o.marker OR act.id IS NOT NULL AND EXISTS (
					SELECT
					FROM heyaira_loop.work_item taken
					WHERE taken.work_type = o.work_type
						AND taken.scope_key = o.scope_key
						AND taken.dedupe_key = o.digest || '@' || heyaira_loop.fence_text(act.generation)
						AND taken.id <> act.id)
				THEN CASE WHEN o.urgent AND act.run_at > statement_timestamp() THEN 'hasten' ELSE 'duplicate' END
			WHEN act.id IS NOT NULL THEN 'advance'
			WHEN dup.state IN ('failed', 'quarantined') AND NOT o.urgent THEN 'failed'
			WHEN dup.state = 'cancelled' AND NOT o.urgent THEN 'cancelled'
			ELSE 'create'
		END AS verdict
	FROM obs o
	LEFT JOIN heyaira_loop.coverage c USING (work_type, scope_key)
	LEFT JOIN heyaira_loop.work_item dup USING (work_type, scope_key, dedupe_key)
	-- There is one at most; the limit keeps the planner from comparing all with all.
	LEFT JOIN LATERAL (
		SELECT w.*
		FROM heyaira_loop.work_item w
		WHERE w.work_type = o.work_type
			AND w.scope_key = o.scope_key
			AND w.coalesces
			AND w.state IN ('queued', 'leased')
			AND o.coalesces
		LIMIT 1
	) AS act ON true
),
-- The id is drawn before the row is made because the receipt of the creation holds it.
judged AS MATERIALIZED (
	SELECT r.*,
		CASE WHEN r.final = 'create' THEN nextval('heyaira_loop.work_item_id_seq') END AS new_id
	FROM (
		SELECT
			s.*,
			CASE
				WHEN s.verdict = 'create' AND room.free IS NOT NULL
					AND row_number() OVER (PARTITION BY s.work_type, s.verdict ORDER BY s.n) > room.free THEN 'full'
				ELSE s.verdict
			END AS final
		FROM seen s
		LEFT JOIN room ON room.name = s.work_type
	) AS r
),
-- An ended item of the same marker keeps its key; a person who wants the work anew gets
-- a later generation.
fresh AS MATERIALIZED (
	SELECT j.*,
		g.generation AS new_generation,
		CASE WHEN j.coalesces THEN j.digest || '@' || heyaira_loop.fence_text(g.generation) ELSE j.key END AS new_key
	FROM judged j
	CROSS JOIN LATERAL (
		SELECT CASE
			WHEN j.dup_id IS NULL THEN j.generation
			ELSE greatest(j.generation, (
				SELECT max(w.generation)
				FROM heyaira_loop.work_item w
				WHERE w.work_type = j.work_type AND w.scope_key = j.scope_key)) + 1
		END
	) AS g (generation)
	WHERE j.final = 'create'
),
-- What was made before in this scope is named, so that a removed item leaves a gap.
ins AS (
	INSERT INTO heyaira_loop.work_item
		(id, work_type, scope_key, dedupe_key, coalesces, generation, run_at, observed_ticket, observed_marker, payload, head)
	OVERRIDING SYSTEM VALUE
	SELECT
		f.new_id, f.work_type, f.scope_key, f.new_key, f.coalesces, f.new_generation,
		-- min_interval is counted from the last cover and never from the last change, so a
		-- busy scope is not put off for ever; a scope whose items keep ending badly waits
		-- longer each time, so new changes are no way round the ceiling.
		CASE
			WHEN f.urgent THEN statement_timestamp()
			ELSE greatest(
				statement_timestamp(),
				f.not_before,
				CASE WHEN f.coalesces AND NOT f.forced AND f.covered_marker IS NOT NULL THEN least(f.covered_at, statement_timestamp()) + f.min_interval END,
				CASE WHEN f.streak > 0 THEN statement_timestamp() + f.backoff_cap * least(f.streak, 24) END)
		END,
		$6::bigint, f.marker, f.payload::json,
		heyaira_loop.receipt(NULL, f.new_id, 1, statement_timestamp(), 'created', NULL, NULL, (
			'{"dedupe_key":' || to_json(f.new_key)
			|| ',"generation":"' || heyaira_loop.fence_text(f.new_generation)
			|| '","previous":' || coalesce('{"head":' || to_json(p.head) || ',"item":"' || p.id || '"}', 'null')
			|| ',"scope":' || to_json(f.scope_key)
			|| ',"work_type":' || to_json(f.work_type) || '}')::json)
	FROM fresh f
	LEFT JOIN heyaira_loop.work_item p ON p.id = f.last_item
	ORDER BY f.work_type, f.scope_key, f.dedupe_key
	ON CONFLICT DO NOTHING
	RETURNING id, work_type, scope_key, dedupe_key, generation, head
),
born AS (
	-- The detail is spelled again rather than joined: the planner expects one row of
	-- either side and would compare each with each.
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, detail, digest)
	SELECT
		i.id, 1, statement_timestamp(), 'created', (
			'{"dedupe_key":' || to_json(i.dedupe_key)
			|| ',"generation":"' || heyaira_loop.fence_text(i.generation)
			|| '","previous":' || coalesce('{"head":' || to_json(p.head) || ',"item":"' || p.id || '"}', 'null')
			|| ',"scope":' || to_json(i.scope_key)
			|| ',"work_type":' || to_json(i.work_type) || '}')::json,
		i.head
	FROM ins i
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	LEFT JOIN heyaira_loop.work_item p ON p.id = s.last_item
	RETURNING item_id
),
held AS MATERIALIZED (
	-- The key changes, the generation does not: an attempt may have published under it
	-- already, and the next one has to find that.
	SELECT w.id, w.head, w.event_no, w.fence, k.dedupe_key, k.marker, k.payload, k.ticket, j.urgent,
		('{"dedupe_key":' || to_json(k.dedupe_key) || ',"now":' || j.urgent || '}')::json AS detail
	FROM judged j
	JOIN heyaira_loop.work_item w ON w.id = j.active_id
	CROSS JOIN LATERAL (
		SELECT j.digest || '@' || heyaira_loop.fence_text(w.generation), j.marker, j.payload::json, $6::bigint
		WHERE j.final = 'advance'
		UNION ALL
		SELECT w.dedupe_key, w.observed_marker, w.payload, w.observed_ticket
		WHERE j.final = 'hasten'
	) AS k (dedupe_key, marker, payload, ticket)
	WHERE j.final IN ('advance', 'hasten')
		AND w.state = 'queued'
		AND (j.final = 'hasten' OR w.phase = 'run' AND w.observed_ticket < $6::bigint)
	ORDER BY w.id
	FOR NO KEY UPDATE OF w SKIP LOCKED
),
adv AS (
	-- run_at stays unless a person asked: neither is a back-off cut short nor a busy scope
	-- put off.
	UPDATE heyaira_loop.work_item w
	SET dedupe_key = h.dedupe_key,
		observed_ticket = h.ticket,
		observed_marker = h.marker,
		payload = h.payload,
		run_at = CASE WHEN h.urgent THEN least(w.run_at, statement_timestamp()) ELSE w.run_at END,
		event_no = h.event_no + 1,
		head = heyaira_loop.receipt(h.head, h.id, h.event_no + 1, statement_timestamp(), 'advanced', NULL, h.fence, h.detail)
	FROM held h
	WHERE w.id = h.id
	RETURNING w.id, w.event_no, w.head, h.fence, h.detail
),
moved AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, fence, detail, digest)
	SELECT id, event_no, statement_timestamp(), 'advanced', fence, detail, head
	FROM adv
	RETURNING item_id
),
answer AS MATERIALIZED (
	SELECT
		j.*,
		i.id AS made_id,
		i.generation AS made_generation,
		coalesce(i.id, a.id, j.active_id, j.dup_id) AS item_id,
		CASE
			WHEN i.id IS NOT NULL THEN 'created'
			WHEN a.id IS NOT NULL THEN 'advanced'
			WHEN j.final IN ('create', 'advance', 'hasten') THEN 'raced'
			ELSE j.final
		END AS word
	FROM judged j
	LEFT JOIN ins i ON i.id = j.new_id
	LEFT JOIN adv a ON a.id = j.active_id
),
told AS MATERIALIZED (
	SELECT
		work_type,
		scope_key,
		max(made_id) AS last_item,
		max(made_generation) AS generation,
		(array_agg(marker ORDER BY n DESC) FILTER (WHERE coalesces AND word NOT IN ('stale', 'raced', 'unkeyed')))[1] AS marker,
		bool_or(uncovered) AS uncovered,
		(array_agg(memo ORDER BY n DESC) FILTER (WHERE memo IS NOT NULL AND word NOT IN ('stale', 'raced', 'unkeyed')))[1] AS memo,
		-- The occurrence moves on with the item that stands for it, never before, never alone.
		max(occurrence) FILTER (WHERE word NOT IN ('stale', 'raced', 'unkeyed', 'running', 'full', 'paused')) AS occurrence,
		max(following) FILTER (WHERE word NOT IN ('stale', 'raced', 'unkeyed', 'running', 'full', 'paused')) AS following
	FROM answer
	GROUP BY work_type, scope_key
),
-- Scopes come last and in order. A scope that someone holds is left for the next beat:
-- nothing is lost, the same observation will be made again.
heads AS MATERIALIZED (
	SELECT t.*
	FROM told t
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE t.last_item IS NOT NULL
		OR t.occurrence IS NOT NULL
		OR s.observed_ticket < $6::bigint AND (
			t.marker IS NOT NULL AND (
				t.marker IS DISTINCT FROM s.observed_marker
				OR t.uncovered = (s.uncovered_since IS NULL)
				OR s.observe_error IS NOT NULL)
			OR t.memo IS NOT NULL AND t.memo IS DISTINCT FROM coalesce(s.memo::text, 'null'))
	ORDER BY s.work_type, s.scope_key
	FOR NO KEY UPDATE OF s SKIP LOCKED
),
noted AS (
	UPDATE heyaira_loop.scope s
	SET last_item = coalesce(h.last_item, s.last_item),
		generation = greatest(s.generation, h.generation),
		observed_marker = CASE WHEN s.observed_ticket < $6::bigint THEN coalesce(h.marker, s.observed_marker) ELSE s.observed_marker END,
		observed_at = CASE WHEN s.observed_ticket < $6::bigint AND h.marker IS NOT NULL THEN statement_timestamp() ELSE s.observed_at END,
		observe_error = CASE WHEN s.observed_ticket < $6::bigint AND h.marker IS NOT NULL THEN NULL ELSE s.observe_error END,
		uncovered_since = CASE
			WHEN s.observed_ticket >= $6::bigint OR h.marker IS NULL THEN s.uncovered_since
			WHEN h.uncovered THEN coalesce(s.uncovered_since, statement_timestamp())
		END,
		memo = CASE
			WHEN s.observed_ticket >= $6::bigint OR h.memo IS NULL THEN s.memo
			ELSE nullif(h.memo, 'null')::json
		END,
		observed_ticket = greatest(s.observed_ticket, $6::bigint),
		next_run_at = CASE WHEN s.next_run_at = h.occurrence THEN h.following ELSE s.next_run_at END
	FROM heads h
	WHERE s.work_type = h.work_type AND s.scope_key = h.scope_key
	RETURNING s.scope_key
)
SELECT a.n, coalesce(w.word, CASE WHEN s.scope_key IS NOT NULL THEN 'duplicate' END) AS word, coalesce(w.item_id, 0) AS item_id
FROM asked a
LEFT JOIN answer w USING (n)
LEFT JOIN heyaira_loop.scope s ON s.work_type = a.work_type AND s.scope_key = a.scope_key
WHERE (SELECT count(*) FROM born) >= 0
	AND (SELECT count(*) FROM moved) >= 0
	AND (SELECT count(*) FROM noted) >= 0
ORDER BY a.n;
