-- reclaim: put expired leases back into the queue.
-- $1 integer limit.
-- Expiry is looked at again under the row lock, so a lease renewed, ended or
-- taken in between is left alone.
WITH held AS MATERIALIZED (
	SELECT w.*
	FROM heyaira_loop.work_item w
	WHERE w.state = 'leased'
		AND w.lease_until <= statement_timestamp()
	ORDER BY w.id
	LIMIT $1::integer
	FOR NO KEY UPDATE OF w SKIP LOCKED
),
-- Only work that had begun is charged with the crash. A document that waited in
-- a pipe beside the one that killed the process is innocent; it is held by the
-- ceiling on claims alone.
next AS MATERIALIZED (
	SELECT
		h.*,
		h.started_at IS NOT NULL AS began,
		h.started_at IS NOT NULL AND h.crashes + 1 - h.crashes_base >= t.max_crashes
			OR h.claims - h.claims_base >= t.max_claims AS spent,
		CASE
			WHEN h.started_at IS NULL THEN statement_timestamp()
			ELSE clock_timestamp() + heyaira_loop.backoff(t.backoff_base, t.backoff_cap, t.backoff_flat, h.crashes - h.crashes_base)
		END AS again_at
	FROM held h
	JOIN heyaira_loop.work_type t ON t.name = h.work_type
),
told AS MATERIALIZED (
	SELECT n.*, r.kind, r.detail,
		heyaira_loop.receipt(n.head, n.id, n.event_no + 1, statement_timestamp(), r.kind, n.owner, n.fence, r.detail) AS digest
	FROM next n
	CROSS JOIN LATERAL (
		SELECT
			CASE WHEN n.spent THEN 'quarantined' ELSE 'reclaimed' END,
			('{"began":' || n.began || ',"phase":' || to_json(n.phase) || '}')::json
	) AS r (kind, detail)
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET state = CASE WHEN t.spent THEN 'quarantined' ELSE 'queued' END,
		finished_at = CASE WHEN t.spent THEN clock_timestamp() END,
		crashes = t.crashes + t.began::integer,
		run_at = t.again_at,
		owner = NULL,
		lease_until = NULL,
		started_at = NULL,
		progress_bytes = NULL,
		progress_stage = NULL,
		last_error = CASE
			WHEN t.began THEN 'worker was lost during ' || t.phase
			WHEN t.spent THEN 'claimed ' || t.claims - t.claims_base || ' times without an end'
			ELSE w.last_error
		END,
		last_class = CASE WHEN t.began THEN 'lost' ELSE w.last_class END,
		event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	WHERE w.id = t.id
	RETURNING w.id, w.work_type, w.scope_key, w.state, w.crashes
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, detail, digest)
	SELECT id, event_no + 1, statement_timestamp(), kind, owner, fence, detail, digest
	FROM told
	RETURNING item_id
),
head AS MATERIALIZED (
	SELECT s.work_type, s.scope_key, q.ended
	FROM (
		SELECT work_type, scope_key, count(*) AS ended
		FROM upd
		WHERE state = 'quarantined'
		GROUP BY work_type, scope_key
	) AS q
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	ORDER BY s.work_type, s.scope_key
	FOR NO KEY UPDATE OF s
),
ended AS (
	UPDATE heyaira_loop.scope s
	SET streak = s.streak + h.ended::integer
	FROM head h
	WHERE s.work_type = h.work_type AND s.scope_key = h.scope_key
	RETURNING s.scope_key
)
SELECT id, work_type, scope_key, CASE WHEN state = 'queued' THEN 'given_back' ELSE state END AS word, crashes
FROM upd
WHERE (SELECT count(*) FROM ev) >= 0
	AND (SELECT count(*) FROM ended) >= 0
ORDER BY id;
