-- put: one piece of queued work with the receipt of its creation.
-- $1 text work type, $2 text scope, $3 text key (NULL: keyed by the marker), $4 text
-- marker, $5 text payload.
WITH fresh AS MATERIALIZED (
	SELECT
		nextval('heyaira_loop.work_item_id_seq') AS id,
		nextval('heyaira_loop.ticket_seq') AS ticket,
		t.coalesces,
		s.generation,
		CASE
			WHEN t.coalesces THEN encode(sha256(convert_to($4::text, 'UTF8')), 'hex') || '@' || heyaira_loop.fence_text(s.generation)
			ELSE $3::text
		END AS dedupe_key
	FROM heyaira_loop.work_type t
	JOIN heyaira_loop.scope s ON s.work_type = t.name
	WHERE t.name = $1::text AND s.scope_key = $2::text
),
ins AS (
	INSERT INTO heyaira_loop.work_item
		(id, work_type, scope_key, dedupe_key, coalesces, generation, run_at, observed_ticket, observed_marker, payload, head)
	OVERRIDING SYSTEM VALUE
	SELECT
		id, $1::text, $2::text, dedupe_key, coalesces, generation, statement_timestamp(), ticket, $4::text, $5::json,
		heyaira_loop.receipt(NULL, id, 1, statement_timestamp(), 'created', NULL, NULL, to_json(dedupe_key))
	FROM fresh
	RETURNING id, dedupe_key, head
)
INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, detail, digest)
SELECT id, 1, statement_timestamp(), 'created', to_json(dedupe_key), head
FROM ins
RETURNING item_id;
