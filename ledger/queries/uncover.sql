-- uncover: what was covered is gone or was refuted.
-- $1 text work type, $2 text scope, $3 bigint the generation that was looked at, $4
-- text reason, $5 text who.
-- Only that generation is uncovered, never a newer one that came meanwhile. The row stays
-- and the generation moves on, so that the same marker makes a new dedupe key and a new
-- publication key.
WITH lost AS (
	UPDATE heyaira_loop.coverage c
	SET marker = NULL,
		evidence = ('{"uncovered":' || to_json($4::text) || '}')::json,
		covered_at = statement_timestamp()
	WHERE c.work_type = $1::text
		AND c.scope_key = $2::text
		AND c.generation = $3::bigint
		AND c.marker IS NOT NULL
	RETURNING c.work_type, c.scope_key, c.taken_at, c.item_id
),
moved AS (
	UPDATE heyaira_loop.scope s
	SET generation = greatest(s.generation, $3::bigint) + 1,
		uncovered_since = coalesce(s.uncovered_since, l.taken_at)
	FROM lost l
	WHERE s.work_type = l.work_type AND s.scope_key = l.scope_key
	RETURNING s.work_type, s.scope_key, l.item_id
),
told AS MATERIALIZED (
	SELECT ('{"generation":"' || heyaira_loop.fence_text($3::bigint)
		|| '","item":' || coalesce('"' || m.item_id || '"', 'null') || ',"reason":' || to_json($4::text)
		|| ',"scope":' || to_json(m.scope_key) || ',"work_type":' || to_json(m.work_type) || '}')::json AS detail
	FROM moved m
),
own AS (
	UPDATE heyaira_loop.ledger_identity i
	SET event_no = i.event_no + 1,
		head = heyaira_loop.receipt(i.head, 0, i.event_no + 1, statement_timestamp(), 'uncovered', $5::text, NULL, t.detail)
	FROM told t
	RETURNING i.event_no, i.head, t.detail
)
INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, detail, digest)
SELECT 0, event_no, statement_timestamp(), 'uncovered', $5::text, detail, head
FROM own
RETURNING event_no;
