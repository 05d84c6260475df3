-- generation: a scope's next generation.
UPDATE heyaira_loop.scope
SET generation = $3::bigint
WHERE work_type = $1::text AND scope_key = $2::text;
