-- reset: the ledger has seen nothing yet. Much cheaper than a new database.
DELETE FROM heyaira_loop.coverage;
DELETE FROM heyaira_loop.work_item;
DELETE FROM heyaira_loop.work_event;
DELETE FROM heyaira_loop.scope;
DELETE FROM heyaira_loop.work_type;
DELETE FROM heyaira_loop.beat;
UPDATE heyaira_loop.ledger_identity
SET event_no = 0,
	head = NULL;
