-- scope_add: a scope of a work type, known or not.
INSERT INTO heyaira_loop.scope (work_type, scope_key, generation)
SELECT $1::text, $2::text, (epoch::bigint << 40) + 1
FROM heyaira_loop.ledger_identity
ON CONFLICT DO NOTHING;
