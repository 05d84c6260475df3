-- lacking: what a restore needs and this server does not have.
-- $1 text[] roles, $2 text[] extensions.
SELECT 'role' AS kind, r.name
FROM unnest($1::text[]) AS r (name)
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles p WHERE p.rolname = r.name)
UNION ALL
SELECT 'extension', e.name
FROM unnest($2::text[]) AS e (name)
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_available_extensions a WHERE a.name = e.name)
ORDER BY 1, 2
