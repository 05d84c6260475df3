-- start: a step begins the work of a document, once.
-- $1 bigint[] items, $2 bigint[] fences, $3 text[] owners as the documents say,
-- $4 text this process, $5 text phase.
-- The owner changes hands in this statement, so a document that is read twice
-- (a saved file, two runs on one pipe) starts work once; the second is told lost.
-- Sent again after a lost reply it answers as before. From here on a crash is
-- charged to the item. No receipt: nothing but the holder's name has changed.
-- Locked by id first and judged after: any other condition beside the id would
-- lead the planner to compare every leased row with every document.
WITH row_of AS MATERIALIZED (
	SELECT w.id, w.work_type, w.scope_key, w.phase, w.fence, w.owner, w.lease_until, w.started_at
	FROM heyaira_loop.work_item w
	WHERE w.id = ANY ($1::bigint[])
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
),
held AS MATERIALIZED (
	SELECT w.id, coalesce(s.lease_ttl, t.lease_ttl) AS ttl
	FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS a (id, fence, owner)
	JOIN row_of w USING (id, fence)
	JOIN heyaira_loop.work_type t ON t.name = w.work_type
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE w.phase = $5::text
		AND w.lease_until > statement_timestamp()
		AND (w.owner = a.owner AND w.started_at IS NULL OR w.owner = $4::text)
)
UPDATE heyaira_loop.work_item w
SET owner = $4::text,
	started_at = coalesce(w.started_at, statement_timestamp()),
	lease_until = clock_timestamp() + h.ttl
FROM held h
WHERE w.id = h.id
RETURNING
	w.id, w.work_type, w.scope_key, w.dedupe_key, w.generation, w.phase, w.fence, w.owner, w.lease_until, h.ttl, w.claims,
	w.observed_marker, w.payload::text, w.head, w.result::text, w.result_marker, w.result_ticket, w.result_at,
	clock_timestamp() AS now;
