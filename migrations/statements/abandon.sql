-- abandon: end a failed migration together with the session's lock that tern took.
ROLLBACK;
SELECT pg_advisory_unlock_all();
