-- events: the receipts of one item, or of the ledger itself (item 0), oldest first.
-- $1 bigint item.
SELECT item_id, event_no, at, kind, coalesce(owner, '') AS owner, coalesce(fence, 0) AS fence, detail, digest
FROM heyaira_loop.work_event
WHERE item_id = $1::bigint
ORDER BY event_no;
