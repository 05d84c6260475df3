-- complete: proven. The item ends and its scope is covered in one statement.
-- $1 bigint[] items, $2 bigint[] fences, $3 text[] owners, $4 text[] evidence.
-- What is covered is what run captured and the ledger kept, never what the
-- document in the pipe says. An older capture that is proven late (an item put
-- back by hand) ends as done and leaves the newer cover alone. Sent again after a
-- lost reply it answers as before.
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
	FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS a (id, fence, owner, proof)
),
told AS MATERIALIZED (
	SELECT w.*, a.proof::json AS proof,
		heyaira_loop.receipt(w.head, w.id, w.event_no + 1, statement_timestamp(), 'done', w.owner, w.fence, a.proof::json) AS digest
	FROM asked a
	JOIN row_of w USING (id, fence, owner)
	WHERE w.phase = 'verify'
		AND w.started_at IS NOT NULL
		AND w.lease_until > statement_timestamp()
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET state = 'done',
		evidence = t.proof,
		finished_at = clock_timestamp(),
		owner = NULL,
		lease_until = NULL,
		started_at = NULL,
		progress_bytes = NULL,
		progress_stage = NULL,
		event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	WHERE w.id = t.id
	RETURNING w.id
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, detail, digest)
	SELECT id, event_no + 1, statement_timestamp(), 'done', owner, fence, proof, digest
	FROM told
	RETURNING item_id
),
-- Guarded by the ticket and not by the fence: an old capture may be proven under
-- a new fence.
covered AS (
	INSERT INTO heyaira_loop.coverage AS c
		(work_type, scope_key, generation, marker, ticket, taken_at, item_id, fence, evidence, covered_at)
	SELECT work_type, scope_key, generation, result_marker, result_ticket, result_at, id, fence, proof, clock_timestamp()
	FROM told
	WHERE coalesces
	ORDER BY work_type, scope_key
	ON CONFLICT (work_type, scope_key) DO UPDATE
	SET generation = EXCLUDED.generation,
		marker = EXCLUDED.marker,
		ticket = EXCLUDED.ticket,
		taken_at = EXCLUDED.taken_at,
		item_id = EXCLUDED.item_id,
		fence = EXCLUDED.fence,
		evidence = EXCLUDED.evidence,
		covered_at = EXCLUDED.covered_at
	WHERE c.ticket < EXCLUDED.ticket
	RETURNING c.work_type, c.scope_key, c.generation, c.marker, c.ticket, c.taken_at, c.item_id
),
-- Reads covered, so that the coverage is locked before the scope in every run.
head AS MATERIALIZED (
	SELECT s.work_type, s.scope_key
	FROM (
		SELECT DISTINCT work_type, scope_key, coalesces
		FROM told
	) AS t
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE (t.coalesces OR s.streak > 0)
		AND (SELECT count(*) FROM covered) >= 0
	ORDER BY s.work_type, s.scope_key
	FOR NO KEY UPDATE OF s
),
moved AS (
	-- A change seen after the capture was taken has been uncovered since then.
	UPDATE heyaira_loop.scope s
	SET generation = greatest(s.generation, v.generation + 1),
		streak = 0,
		uncovered_since = CASE
			WHEN v.scope_key IS NULL THEN s.uncovered_since
			WHEN s.observed_ticket > v.ticket AND s.observed_marker IS DISTINCT FROM v.marker THEN v.taken_at
		END
	FROM head h
	LEFT JOIN covered v USING (work_type, scope_key)
	WHERE s.work_type = h.work_type AND s.scope_key = h.scope_key
	RETURNING s.scope_key
)
SELECT
	t.id,
	CASE
		WHEN NOT t.coalesces THEN 'done'
		WHEN v.item_id IS NULL THEN 'superseded'
		ELSE 'covered'
	END AS word
FROM told t
JOIN upd u USING (id)
LEFT JOIN covered v ON v.item_id = t.id
WHERE (SELECT count(*) FROM ev) >= 0
	AND (SELECT count(*) FROM moved) >= 0
UNION ALL
-- Sent again: this holder's receipt stands on the chain.
SELECT
	w.id,
	CASE
		WHEN NOT w.coalesces THEN 'done'
		WHEN c.item_id IS NULL THEN 'superseded'
		ELSE 'covered'
	END
FROM asked a
JOIN row_of w USING (id, fence)
JOIN heyaira_loop.work_event e ON e.item_id = a.id AND e.fence = a.fence AND e.owner = a.owner AND e.kind = 'done'
LEFT JOIN heyaira_loop.coverage c ON c.work_type = w.work_type AND c.scope_key = w.scope_key AND c.item_id = w.id
WHERE w.state = 'done';
