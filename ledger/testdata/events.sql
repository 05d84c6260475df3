-- events: an item's receipts in order.
SELECT event_no, at, kind, owner, fence, detail::text, digest
FROM heyaira_loop.work_event
WHERE item_id = $1::bigint
ORDER BY event_no;
