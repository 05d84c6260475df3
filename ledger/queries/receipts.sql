-- receipts: the next page of all chains, in order.
-- $1 bigint item and $2 integer number of the last receipt seen (-1 and 0 at first),
-- $3 integer limit.
SELECT item_id, event_no, at, kind, owner, fence, detail::text, digest
FROM heyaira_loop.work_event
WHERE (item_id, event_no) > ($1::bigint, $2::integer)
ORDER BY item_id, event_no
LIMIT $3::integer;
