-- finish: run is over, verify is next; the lease goes on.
-- $1 bigint[] items, $2 bigint[] fences, $3 text[] owners, $4 text[] results,
-- $5 text[] the marker that run really captured, $6 bigint[] the ticket drawn
-- before that marker was read, $7 timestamptz[] when it was taken (all three NULL
-- for work that covers nothing).
-- The result is kept here and not only in the pipe: if verify dies, the next
-- claim hands it out again and nothing is run twice. Sent again after a lost
-- reply it answers as before.
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
	SELECT w.*, a.found, a.found_marker, a.found_ticket, a.found_at, coalesce(s.lease_ttl, t.lease_ttl) AS ttl
	FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[])
		AS a (id, fence, owner, found, found_marker, found_ticket, found_at)
	JOIN row_of w USING (id, fence, owner)
	JOIN heyaira_loop.work_type t ON t.name = w.work_type
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE w.lease_until > statement_timestamp()
),
-- The receipt holds the hash of the marker: the text stays on the item.
told AS MATERIALIZED (
	SELECT h.*, r.detail,
		heyaira_loop.receipt(h.head, h.id, h.event_no + 1, statement_timestamp(), 'ran', h.owner, h.fence, r.detail) AS digest
	FROM asked h
	CROSS JOIN LATERAL (
		SELECT (
			'{"marker":' || coalesce('"' || encode(sha256(convert_to(h.found_marker, 'UTF8')), 'hex') || '"', 'null')
			|| ',"result":' || h.found
			|| ',"taken_at":' || coalesce('"' || heyaira_loop.time_text(h.found_at) || '"', 'null')
			|| ',"ticket":' || coalesce('"' || heyaira_loop.fence_text(h.found_ticket) || '"', 'null')
			|| '}')::json
	) AS r (detail)
	WHERE h.phase = 'run' AND h.started_at IS NOT NULL
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET phase = 'verify',
		result = t.found::json,
		result_marker = t.found_marker,
		result_ticket = t.found_ticket,
		result_at = t.found_at,
		started_at = NULL,
		progress_bytes = NULL,
		progress_stage = NULL,
		lease_until = clock_timestamp() + t.ttl,
		event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	WHERE w.id = t.id
	RETURNING w.id, w.lease_until, t.ttl
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, detail, digest)
	SELECT id, event_no + 1, statement_timestamp(), 'ran', owner, fence, detail, digest
	FROM told
	RETURNING item_id
)
SELECT id, lease_until, ttl
FROM upd
WHERE (SELECT count(*) FROM ev) >= 0
UNION ALL
SELECT id, lease_until, ttl
FROM asked
WHERE phase = 'verify'
	AND started_at IS NULL
	AND result::text = found
	AND result_ticket IS NOT DISTINCT FROM found_ticket;
