-- remember_store: remember a store's id, unless one is remembered; answers the one that
-- is. $1 text name, $2 text id.
-- The update that changes nothing makes the row of a racing host visible.
INSERT INTO heyaira_loop.known_store AS k (name, id)
VALUES ($1::text, $2::uuid)
ON CONFLICT (name) DO UPDATE
SET name = k.name
RETURNING k.id::text;
