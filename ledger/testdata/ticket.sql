-- ticket: the next ticket.
SELECT nextval('heyaira_loop.ticket_seq');
