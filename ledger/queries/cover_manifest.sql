-- cover_manifest: coverage from the store's own evidence, for a ledger that has none.
-- $1 text work type, $2 text scope, $3 bigint generation, $4 text marker, $5 timestamptz
-- when it was taken, $6 bigint fence that published it, $7 text evidence, $8 text who.
-- Newer than what is covered by generation, so a slow listing cannot bring an older
-- backup back. The ticket is drawn here and never taken from the manifest: one from a
-- lost ledger would make every look of this one stale. It counts as covered since it
-- was taken: min_interval and max_age run from there. A scope with a live lease is left
-- to its worker.
WITH found AS (
	INSERT INTO heyaira_loop.coverage AS c
		(work_type, scope_key, generation, marker, ticket, taken_at, fence, evidence, covered_at)
	SELECT s.work_type, s.scope_key, $3::bigint, $4::text, nextval('heyaira_loop.ticket_seq'), $5::timestamptz, $6::bigint, $7::json,
		least($5::timestamptz, statement_timestamp())
	FROM heyaira_loop.scope s
	WHERE s.work_type = $1::text
		AND s.scope_key = $2::text
		AND NOT EXISTS (
			SELECT
			FROM heyaira_loop.work_item w
			WHERE w.work_type = s.work_type AND w.scope_key = s.scope_key AND w.state = 'leased')
	ON CONFLICT (work_type, scope_key) DO UPDATE
	SET generation = EXCLUDED.generation,
		marker = EXCLUDED.marker,
		ticket = EXCLUDED.ticket,
		taken_at = EXCLUDED.taken_at,
		item_id = NULL,
		fence = EXCLUDED.fence,
		evidence = EXCLUDED.evidence,
		covered_at = EXCLUDED.covered_at
	WHERE c.generation < EXCLUDED.generation
	RETURNING c.work_type, c.scope_key, c.generation, c.marker
),
moved AS (
	UPDATE heyaira_loop.scope s
	SET generation = greatest(s.generation, f.generation + 1),
		uncovered_since = CASE WHEN s.observed_marker <> f.marker THEN s.uncovered_since END
	FROM found f
	WHERE s.work_type = f.work_type AND s.scope_key = f.scope_key
	RETURNING s.work_type, s.scope_key, f.generation
),
told AS MATERIALIZED (
	SELECT ('{"generation":"' || heyaira_loop.fence_text(m.generation)
		|| '","scope":' || to_json(m.scope_key) || ',"work_type":' || to_json(m.work_type) || '}')::json AS detail
	FROM moved m
),
-- What has no item stands on the ledger's own chain.
own AS (
	UPDATE heyaira_loop.ledger_identity i
	SET event_no = i.event_no + 1,
		head = heyaira_loop.receipt(i.head, 0, i.event_no + 1, statement_timestamp(), 'covered', $8::text, $6::bigint, t.detail)
	FROM told t
	RETURNING i.event_no, i.head, t.detail
)
INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, detail, digest)
SELECT 0, event_no, statement_timestamp(), 'covered', $8::text, $6::bigint, detail, head
FROM own
RETURNING event_no;
