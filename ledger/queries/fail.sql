-- fail: an attempt ended badly.
-- $1 bigint[] items, $2 bigint[] fences, $3 text[] owners, $4 text[] class
-- (transient, blocked, permanent, refuted), $5 text[] error.
-- blocked is a fault of the surroundings: it waits a flat while and charges
-- nothing, not even the claim, or an outage of half a day would quarantine all.
-- A transient failure of verify keeps the result: only the proof is tried again.
-- refuted is verify's word for a result that is wrong; the result is dropped, the
-- generation is burned (its publication can never be the good one) and run starts
-- over under a new key. Sent again after a lost reply it answers as before.
-- Locked by id first and judged after: any other condition beside the id would
-- lead the planner to compare every leased row with every document.
WITH row_of AS MATERIALIZED (
	SELECT w.*
	FROM heyaira_loop.work_item w
	WHERE w.id = ANY ($1::bigint[])
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
),
asked AS MATERIALIZED (
	SELECT *
	FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS a (id, fence, owner, class, reason)
),
held AS MATERIALIZED (
	SELECT w.*, a.class, a.reason,
		a.class = 'refuted' AS refuted,
		a.class = 'blocked' AS blocked,
		a.class <> 'blocked' AND w.failures + 1 - w.failures_base >= coalesce(s.max_failures, t.max_failures) AS spent,
		-- The scope's, where that has moved on meanwhile: what is burned is never below it.
		CASE WHEN a.class = 'refuted' AND w.coalesces THEN greatest(w.generation + 1, s.generation) ELSE w.generation END AS new_generation,
		t.blocked_wait, t.backoff_base, t.backoff_cap, t.backoff_flat
	FROM asked a
	JOIN row_of w USING (id, fence, owner)
	JOIN heyaira_loop.work_type t ON t.name = w.work_type
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE w.lease_until > statement_timestamp()
		AND (a.class <> 'refuted' OR w.phase = 'verify')
),
told AS MATERIALIZED (
	SELECT h.*, r.state_after, r.kind, r.detail,
		heyaira_loop.receipt(h.head, h.id, h.event_no + 1, statement_timestamp(), r.kind, h.owner, h.fence, r.detail) AS digest
	FROM held h
	CROSS JOIN LATERAL (
		SELECT
			CASE WHEN h.class = 'permanent' THEN 'failed' WHEN h.spent THEN 'quarantined' ELSE 'queued' END,
			CASE WHEN h.class = 'permanent' THEN 'failed' WHEN h.spent THEN 'quarantined' WHEN h.refuted THEN 'refuted' ELSE 'retried' END,
			('{"class":' || to_json(h.class) || ',"error":' || to_json(left(h.reason, 1000)) || ',"phase":' || to_json(h.phase) || '}')::json
	) AS r (state_after, kind, detail)
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET state = t.state_after,
		finished_at = CASE WHEN t.state_after <> 'queued' THEN clock_timestamp() END,
		phase = CASE WHEN t.refuted THEN 'run' ELSE w.phase END,
		result = CASE WHEN NOT t.refuted THEN w.result END,
		result_marker = CASE WHEN NOT t.refuted THEN w.result_marker END,
		result_ticket = CASE WHEN NOT t.refuted THEN w.result_ticket END,
		result_at = CASE WHEN NOT t.refuted THEN w.result_at END,
		generation = t.new_generation,
		dedupe_key = CASE
			WHEN t.refuted AND w.coalesces
				THEN encode(sha256(convert_to(w.observed_marker, 'UTF8')), 'hex') || '@' || heyaira_loop.fence_text(t.new_generation)
			ELSE w.dedupe_key
		END,
		failures = t.failures + (NOT t.blocked)::integer,
		claims_base = w.claims_base + t.blocked::integer,
		last_error = left(t.reason, 1000),
		last_class = t.class,
		run_at = clock_timestamp() + CASE
			WHEN t.blocked THEN t.blocked_wait
			ELSE heyaira_loop.backoff(t.backoff_base, t.backoff_cap, t.backoff_flat, t.failures - t.failures_base)
		END,
		owner = NULL,
		lease_until = NULL,
		started_at = NULL,
		progress_bytes = NULL,
		progress_stage = NULL,
		event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	WHERE w.id = t.id
	RETURNING w.id, w.work_type, w.scope_key, w.state, w.generation, w.run_at, t.refuted, t.kind, t.class
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, detail, digest)
	SELECT id, event_no + 1, statement_timestamp(), kind, owner, fence, detail, digest
	FROM told
	RETURNING item_id
),
-- Bad ends in a row are kept on the scope, so that new work is no way round the
-- ceiling.
head AS MATERIALIZED (
	SELECT s.work_type, s.scope_key, u.ended, u.generation
	FROM (
		SELECT work_type, scope_key, count(*) FILTER (WHERE state <> 'queued') AS ended, max(generation) AS generation
		FROM upd
		WHERE state <> 'queued' OR refuted
		GROUP BY work_type, scope_key
	) AS u
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	ORDER BY s.work_type, s.scope_key
	FOR NO KEY UPDATE OF s
),
moved AS (
	UPDATE heyaira_loop.scope s
	SET streak = s.streak + h.ended::integer,
		generation = greatest(s.generation, h.generation)
	FROM head h
	WHERE s.work_type = h.work_type AND s.scope_key = h.scope_key
	RETURNING s.scope_key
)
SELECT
	id,
	CASE WHEN kind = 'retried' AND class = 'blocked' THEN 'blocked' ELSE kind END AS word,
	CASE WHEN state = 'queued' THEN run_at END AS again_at
FROM upd
WHERE (SELECT count(*) FROM ev) >= 0
	AND (SELECT count(*) FROM moved) >= 0
UNION ALL
-- Sent again: this holder's receipt is the item's newest. reclaim's has no class.
SELECT
	w.id,
	CASE WHEN e.kind = 'retried' AND a.class = 'blocked' THEN 'blocked' ELSE e.kind END,
	CASE WHEN w.state = 'queued' THEN w.run_at END
FROM asked a
JOIN row_of w USING (id, fence)
JOIN heyaira_loop.work_event e ON e.item_id = w.id AND e.event_no = w.event_no AND e.fence = a.fence AND e.owner = a.owner
WHERE w.owner IS NULL
	AND CASE WHEN e.kind IN ('retried', 'refuted', 'failed', 'quarantined') THEN e.detail ->> 'class' END = a.class;
