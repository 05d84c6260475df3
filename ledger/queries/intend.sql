-- intend: check the fence and claim the right to fire one effect, at once.
-- $1 bigint item, $2 bigint fence, $3 text owner, $4 text effect key, $5 text
-- kind, $6 text target (where a reconciler has to look: the manifest's object key).
-- Always one row: claimed (fire it), committed (done before, with its evidence),
-- held (another fence's intent) and unknown (nobody could say): ask the outside
-- world first, and never fire while it does not answer; lost.
WITH held AS MATERIALIZED (
	SELECT w.id, w.fence, w.owner, w.event_no, w.head
	FROM heyaira_loop.work_item w
	WHERE w.id = $1::bigint
		AND w.fence = $2::bigint
		AND w.owner = $3::text
		AND w.started_at IS NOT NULL
		AND w.lease_until > statement_timestamp()
	FOR NO KEY UPDATE OF w
),
told AS MATERIALIZED (
	SELECT h.*, d.detail,
		heyaira_loop.receipt(h.head, h.id, h.event_no + 1, statement_timestamp(), 'effect_claimed', h.owner, h.fence, d.detail) AS digest
	FROM held h
	CROSS JOIN LATERAL (
		SELECT ('{"effect":' || to_json($4::text) || ',"kind":' || to_json($5::text) || ',"target":' || $6::text || '}')::json
	) AS d (detail)
),
mine AS (
	INSERT INTO heyaira_loop.effect_intent AS e (effect_key, kind, item_id, fence, owner, target)
	SELECT $4::text, $5::text, t.id, t.fence, t.owner, $6::json
	FROM told t
	ON CONFLICT (effect_key) DO UPDATE
	SET kind = EXCLUDED.kind,
		item_id = EXCLUDED.item_id,
		fence = EXCLUDED.fence,
		owner = EXCLUDED.owner,
		state = 'intent',
		target = EXCLUDED.target,
		tries = e.tries + 1,
		intended_at = clock_timestamp(),
		settled_at = NULL
	WHERE e.state = 'abandoned'
	RETURNING e.item_id
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	JOIN mine m ON m.item_id = t.id
	WHERE w.id = t.id
	RETURNING w.id
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, detail, digest)
	SELECT t.id, t.event_no + 1, statement_timestamp(), 'effect_claimed', t.owner, t.fence, t.detail, t.digest
	FROM told t
	JOIN mine m ON m.item_id = t.id
	RETURNING item_id
)
SELECT
	CASE
		WHEN m.item_id IS NOT NULL THEN 'claimed'
		WHEN h.id IS NULL THEN 'lost'
		WHEN e.state IN ('committed', 'unknown') THEN e.state
		-- Its own intent again is a reply that was lost, and the process knows that it has
		-- not fired yet. Another process of the same fence (verify, after run) cannot know.
		WHEN e.state = 'intent' AND e.item_id = h.id AND e.fence = h.fence AND e.owner = h.owner THEN 'claimed'
		ELSE 'held'
	END AS word,
	-- NULL with held: an intent that this statement waited for and cannot see yet.
	e.item_id,
	e.fence,
	e.target::text,
	e.evidence::text
FROM (SELECT) AS one
LEFT JOIN held h ON true
LEFT JOIN mine m ON true
LEFT JOIN heyaira_loop.effect_intent e ON e.effect_key = $4::text AND m.item_id IS NULL
WHERE (SELECT count(*) FROM upd) >= 0
	AND (SELECT count(*) FROM ev) >= 0;
