-- dead_effects: intents that nobody can commit any more, for reconcile.
-- $1 text[] the kinds that somebody can be asked about, $2 integer limit.
-- An unknown one is asked about again: that nobody could say is no verdict. Dead
-- is a fact of rows, never of a clock: the item was taken back or has ended, or
-- holds another fence. reclaim runs first and makes it one.
SELECT e.effect_key, e.kind, e.item_id, w.work_type, w.scope_key, e.fence, e.target::text, e.tries
FROM heyaira_loop.effect_intent e
JOIN heyaira_loop.work_item w ON w.id = e.item_id
WHERE e.state IN ('intent', 'unknown')
	AND e.kind = ANY ($1::text[])
	AND (w.state <> 'leased' OR w.fence IS DISTINCT FROM e.fence)
ORDER BY e.intended_at
LIMIT $2::integer;
