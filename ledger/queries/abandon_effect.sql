-- abandon_effect: the holder says that it did not fire.
-- $1 text effect key, $2 bigint fence. Only the process that claimed the intent
-- can know this, and only before it has acted; a doubt is unknown, not abandoned.
-- Answers the key where the intent is abandoned, also when it was sent before.
WITH unfired AS MATERIALIZED (
	SELECT w.id, w.event_no, w.head, e.effect_key, e.fence,
		('{"effect":' || to_json(e.effect_key) || ',"verdict":"abandoned"}')::json AS detail
	FROM heyaira_loop.effect_intent e
	JOIN heyaira_loop.work_item w ON w.id = e.item_id
	WHERE e.effect_key = $1::text
		AND e.fence = $2::bigint
		AND e.state = 'intent'
	FOR NO KEY UPDATE OF w
),
told AS MATERIALIZED (
	SELECT u.*, heyaira_loop.receipt(u.head, u.id, u.event_no + 1, statement_timestamp(), 'effect_settled', NULL, u.fence, u.detail) AS digest
	FROM unfired u
),
freed AS (
	UPDATE heyaira_loop.effect_intent e
	SET state = 'abandoned',
		settled_at = clock_timestamp()
	FROM told t
	WHERE e.effect_key = t.effect_key
		AND e.fence = t.fence
		AND e.state = 'intent'
	RETURNING e.effect_key
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	CROSS JOIN freed f
	WHERE w.id = t.id
	RETURNING w.id
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, fence, detail, digest)
	SELECT t.id, t.event_no + 1, statement_timestamp(), 'effect_settled', t.fence, t.detail, t.digest
	FROM told t
	CROSS JOIN freed f
	RETURNING item_id
)
SELECT effect_key
FROM freed
WHERE (SELECT count(*) FROM upd) >= 0
	AND (SELECT count(*) FROM ev) >= 0
UNION ALL
SELECT effect_key
FROM heyaira_loop.effect_intent
WHERE effect_key = $1::text
	AND fence = $2::bigint
	AND state = 'abandoned';
