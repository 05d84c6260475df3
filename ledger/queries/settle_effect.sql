-- settle_effect: what the outside world said of one dead intent.
-- $1 text effect key, $2 bigint the fence it was dead under, $3 text verdict
-- (committed, abandoned, unknown), $4 text evidence (committed only).
-- Death is looked at again here: a new holder that took the key over meanwhile
-- has another fence and is left alone. Answers the key where the intent was dead; an
-- unknown that stays unknown is answered too, and leaves no receipt.
WITH dead AS MATERIALIZED (
	SELECT w.id, w.event_no, w.head, e.effect_key, e.fence,
		('{"effect":' || to_json(e.effect_key) || ',"evidence":' || coalesce($4::text, 'null') || ',"verdict":' || to_json($3::text) || '}')::json AS detail
	FROM heyaira_loop.effect_intent e
	JOIN heyaira_loop.work_item w ON w.id = e.item_id
	WHERE e.effect_key = $1::text
		AND e.fence = $2::bigint
		AND e.state IN ('intent', 'unknown')
		AND e.state <> $3::text
		AND (w.state <> 'leased' OR w.fence IS DISTINCT FROM e.fence)
	FOR NO KEY UPDATE OF w
),
told AS MATERIALIZED (
	SELECT d.*, heyaira_loop.receipt(d.head, d.id, d.event_no + 1, statement_timestamp(), 'effect_settled', NULL, d.fence, d.detail) AS digest
	FROM dead d
),
kept AS (
	UPDATE heyaira_loop.effect_intent e
	SET state = $3::text,
		evidence = $4::json,
		settled_at = clock_timestamp()
	FROM told t
	WHERE e.effect_key = t.effect_key
		AND e.fence = t.fence
		AND e.state IN ('intent', 'unknown')
	RETURNING e.effect_key
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	CROSS JOIN kept k
	WHERE w.id = t.id
	RETURNING w.id
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, fence, detail, digest)
	SELECT t.id, t.event_no + 1, statement_timestamp(), 'effect_settled', t.fence, t.detail, t.digest
	FROM told t
	CROSS JOIN kept k
	RETURNING item_id
)
SELECT effect_key
FROM kept
WHERE (SELECT count(*) FROM upd) >= 0
	AND (SELECT count(*) FROM ev) >= 0
UNION ALL
SELECT effect_key
FROM heyaira_loop.effect_intent
WHERE effect_key = $1::text
	AND fence = $2::bigint
	AND state = 'unknown'
	AND $3::text = 'unknown';
