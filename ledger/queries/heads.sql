-- heads: all that an idle tick has to know of its scopes. $1 text[] work types, $2
-- text[] scopes (pairs). One row a pair, in their order.
-- The ticket is drawn here, before any marker is read, so a newer ticket never stands
-- for an older look.
WITH ticket AS MATERIALIZED (
	SELECT nextval('heyaira_loop.ticket_seq') AS ticket
),
asked AS (
	SELECT *
	FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS a (work_type, scope_key, n)
)
SELECT
	k.ticket,
	a.n IS NOT NULL AS asked,
	coalesce(a.work_type, '') AS work_type,
	coalesce(a.scope_key, '') AS scope_key,
	s.scope_key IS NOT NULL AS known,
	coalesce(s.generation, 0) AS generation,
	s.next_run_at,
	coalesce(s.paused AND coalesce(s.paused_until > statement_timestamp(), true), false)
		OR coalesce(t.paused AND coalesce(t.paused_until > statement_timestamp(), true), false) AS paused,
	coalesce(s.gate, '') AS gate,
	coalesce(s.observed_marker, '') AS observed_marker,
	coalesce(s.observe_error, '') AS observe_error,
	s.uncovered_since,
	-- One look for each partial index: together they would read the scope's history.
	CASE
		WHEN t.coalesces THEN EXISTS (
			SELECT
			FROM heyaira_loop.work_item w
			WHERE w.work_type = s.work_type AND w.scope_key = s.scope_key AND w.coalesces AND w.state IN ('queued', 'leased'))
		ELSE EXISTS (
				SELECT
				FROM heyaira_loop.work_item w
				WHERE w.work_type = s.work_type AND w.scope_key = s.scope_key AND w.state = 'leased')
			OR EXISTS (
				SELECT
				FROM heyaira_loop.work_item w
				WHERE w.work_type = s.work_type AND w.scope_key = s.scope_key AND NOT w.coalesces AND w.state = 'queued')
	END AS active,
	c.scope_key IS NOT NULL AS ever_covered,
	coalesce(c.marker, '') AS covered_marker,
	CASE WHEN c.marker IS NOT NULL THEN c.covered_at END AS covered_at,
	CASE WHEN c.marker IS NOT NULL THEN c.taken_at END AS taken_at,
	s.memo
FROM ticket k
LEFT JOIN asked a ON true
LEFT JOIN heyaira_loop.work_type t ON t.name = a.work_type
LEFT JOIN heyaira_loop.scope s ON s.work_type = a.work_type AND s.scope_key = a.scope_key
LEFT JOIN heyaira_loop.coverage c ON c.work_type = a.work_type AND c.scope_key = a.scope_key
ORDER BY a.n;
