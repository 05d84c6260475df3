-- renew: all that a step holds, in one statement, also what waits its turn.
-- $1 bigint[] items, $2 bigint[] fences, $3 text[] owners, $4 bigint[] bytes, $5
-- text[] stages: how far each has come, for status. Answers the rows still held;
-- the rest are lost. Here and wherever an owner is asked for, the state need not
-- be: an owner is a lease (work_item_lease).
-- Locked in the order of ids, so two steps of one pipe that both still hold a
-- document cannot deadlock; judged after, for any other condition beside the id
-- would lead the planner to compare every leased row with every document.
WITH row_of AS MATERIALIZED (
	SELECT w.id, w.work_type, w.scope_key, w.fence, w.owner, w.lease_until
	FROM heyaira_loop.work_item w
	WHERE w.id = ANY ($1::bigint[])
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
),
held AS MATERIALIZED (
	SELECT w.id, a.bytes, a.stage, coalesce(s.lease_ttl, t.lease_ttl) AS ttl
	FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[]) AS a (id, fence, owner, bytes, stage)
	JOIN row_of w USING (id, fence, owner)
	JOIN heyaira_loop.work_type t ON t.name = w.work_type
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE w.lease_until > statement_timestamp()
)
UPDATE heyaira_loop.work_item w
SET lease_until = clock_timestamp() + h.ttl,
	progress_bytes = h.bytes,
	progress_stage = nullif(h.stage, '')
FROM held h
WHERE w.id = h.id
RETURNING w.id, w.lease_until, h.ttl;
