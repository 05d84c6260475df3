-- ticket: the order of an observation, drawn before the marker is read, and the
-- ledger's clock.
SELECT nextval('heyaira_loop.ticket_seq') AS ticket, statement_timestamp() AS now;
