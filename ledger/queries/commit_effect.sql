-- commit_effect: it fired; keep the evidence, lease or no lease.
-- $1 text effect key, $2 bigint fence, $3 text evidence.
-- The fence here names who fired and is no permission: what happened outside is
-- true even after the lease was lost, and even after a reconciler gave up on it.
-- Answers the key where the evidence is kept, also when it was sent before.
WITH fired AS MATERIALIZED (
	SELECT e.effect_key, e.item_id, e.fence
	FROM heyaira_loop.effect_intent e
	WHERE e.effect_key = $1::text
		AND e.fence = $2::bigint
		AND e.state <> 'committed'
),
item AS MATERIALIZED (
	SELECT w.id, w.event_no, w.head, f.fence, ('{"effect":' || to_json(f.effect_key) || ',"evidence":' || $3::text || '}')::json AS detail
	FROM fired f
	JOIN heyaira_loop.work_item w ON w.id = f.item_id
	FOR NO KEY UPDATE OF w
),
told AS MATERIALIZED (
	SELECT i.*, heyaira_loop.receipt(i.head, i.id, i.event_no + 1, statement_timestamp(), 'effect_committed', NULL, i.fence, i.detail) AS digest
	FROM item i
),
kept AS (
	UPDATE heyaira_loop.effect_intent e
	SET state = 'committed',
		evidence = $3::json,
		settled_at = clock_timestamp()
	FROM told t
	WHERE e.effect_key = $1::text
		AND e.fence = $2::bigint
		AND e.state <> 'committed'
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
	SELECT t.id, t.event_no + 1, statement_timestamp(), 'effect_committed', t.fence, t.detail, t.digest
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
	AND state = 'committed';
