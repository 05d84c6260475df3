-- give_back: an interrupted step hands its work to the next beat.
-- $1 bigint[] items, $2 bigint[] fences, $3 text[] owners, $4 text[] effect keys
-- that this process claimed and knows it did not fire.
-- Sent only after the child's process group is gone and the upload is aborted.
-- No failure and no crash is charged; the claim stays counted, so work that is
-- interrupted for ever still comes to an end. Sent again after a lost reply it
-- finds what it gave back no longer held: nobody has to be told more.
-- Locked by id first and judged after: any other condition beside the id would
-- lead the planner to compare every leased row with every document.
WITH row_of AS MATERIALIZED (
	SELECT w.*
	FROM heyaira_loop.work_item w
	WHERE w.id = ANY ($1::bigint[])
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
),
held AS MATERIALIZED (
	SELECT w.*, w.claims - w.claims_base >= t.max_claims AS spent
	FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS a (id, fence, owner)
	JOIN row_of w USING (id, fence, owner)
	JOIN heyaira_loop.work_type t ON t.name = w.work_type
	WHERE w.lease_until > statement_timestamp()
),
head AS MATERIALIZED (
	SELECT s.work_type, s.scope_key, q.ended
	FROM (
		SELECT work_type, scope_key, count(*) AS ended
		FROM held
		WHERE spent
		GROUP BY work_type, scope_key
	) AS q
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	ORDER BY s.work_type, s.scope_key
	FOR NO KEY UPDATE OF s
),
-- Who did not fire knows it best: nobody has to ask the outside world. Reads head,
-- so that the scope is locked before the intents.
unfired AS MATERIALIZED (
	SELECT e.effect_key, e.item_id
	FROM heyaira_loop.effect_intent e
	JOIN held h ON h.id = e.item_id AND h.fence = e.fence
	WHERE e.effect_key = ANY ($4::text[])
		AND e.state = 'intent'
		AND (SELECT count(*) FROM head) >= 0
	ORDER BY e.effect_key
	FOR NO KEY UPDATE OF e
),
told AS MATERIALIZED (
	SELECT h.*, r.kind, r.detail,
		heyaira_loop.receipt(h.head, h.id, h.event_no + 1, statement_timestamp(), r.kind, h.owner, h.fence, r.detail) AS digest
	FROM held h
	LEFT JOIN (
		SELECT item_id, json_agg(effect_key ORDER BY effect_key) AS effects
		FROM unfired
		GROUP BY item_id
	) AS u ON u.item_id = h.id
	CROSS JOIN LATERAL (
		SELECT
			CASE WHEN h.spent THEN 'quarantined' ELSE 'given_back' END,
			('{"abandoned":' || coalesce(u.effects, '[]') || ',"began":' || (h.started_at IS NOT NULL) || ',"phase":' || to_json(h.phase) || '}')::json
	) AS r (kind, detail)
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET state = CASE WHEN t.spent THEN 'quarantined' ELSE 'queued' END,
		finished_at = CASE WHEN t.spent THEN clock_timestamp() END,
		last_error = CASE WHEN t.spent THEN 'claimed ' || t.claims - t.claims_base || ' times without an end' ELSE w.last_error END,
		owner = NULL,
		lease_until = NULL,
		started_at = NULL,
		progress_bytes = NULL,
		progress_stage = NULL,
		event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	WHERE w.id = t.id
	RETURNING w.id, w.run_at, t.kind
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, detail, digest)
	SELECT id, event_no + 1, statement_timestamp(), kind, owner, fence, detail, digest
	FROM told
	RETURNING item_id
),
ended AS (
	UPDATE heyaira_loop.scope s
	SET streak = s.streak + h.ended::integer
	FROM head h
	WHERE s.work_type = h.work_type AND s.scope_key = h.scope_key
	RETURNING s.scope_key
),
freed AS (
	UPDATE heyaira_loop.effect_intent e
	SET state = 'abandoned',
		settled_at = clock_timestamp()
	FROM unfired u
	WHERE e.effect_key = u.effect_key
	RETURNING e.effect_key
)
SELECT id, kind AS word, CASE WHEN kind = 'given_back' THEN run_at END AS again_at
FROM upd
WHERE (SELECT count(*) FROM ev) >= 0
	AND (SELECT count(*) FROM ended) >= 0
	AND (SELECT count(*) FROM freed) >= 0;
