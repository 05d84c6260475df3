-- record: what happened to no item, on the ledger's own chain.
-- $1 text kind, $2 text detail, $3 text who.
WITH own AS (
	UPDATE heyaira_loop.ledger_identity i
	SET event_no = i.event_no + 1,
		head = heyaira_loop.receipt(i.head, 0, i.event_no + 1, statement_timestamp(), $1::text, $3::text, NULL, $2::json)
	RETURNING i.event_no, i.head
)
INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, detail, digest)
SELECT 0, event_no, statement_timestamp(), $1::text, $3::text, $2::json, head
FROM own;
