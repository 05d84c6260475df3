-- scope: the head of a scope with its cover.
SELECT
	s.generation, s.streak, s.uncovered_since,
	c.marker, c.ticket, c.taken_at, c.item_id, c.fence, c.generation, c.evidence::text
FROM heyaira_loop.scope s
LEFT JOIN heyaira_loop.coverage c USING (work_type, scope_key)
WHERE s.work_type = $1::text AND s.scope_key = $2::text;
