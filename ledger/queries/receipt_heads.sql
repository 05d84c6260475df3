-- receipt_heads: chains whose newest receipt is not the one that the item names: a
-- cut tail, or an item that was changed by hand. Item 0 is the ledger's own chain.
SELECT h.id, h.event_no
FROM (
	SELECT id, event_no, head
	FROM heyaira_loop.work_item
	UNION ALL
	SELECT 0, event_no, head
	FROM heyaira_loop.ledger_identity
	WHERE head IS NOT NULL
) AS h
LEFT JOIN heyaira_loop.work_event e ON e.item_id = h.id AND e.event_no = h.event_no
WHERE e.digest IS DISTINCT FROM h.head
ORDER BY h.id;
