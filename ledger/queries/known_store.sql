-- known_store: the id of a store as the ledger remembers it. $1 text name.
SELECT id::text
FROM heyaira_loop.known_store
WHERE name = $1::text;
