-- gate: closes a scope's gate with a reason.
UPDATE heyaira_loop.scope
SET gate = $3::text
WHERE work_type = $1::text AND scope_key = $2::text
RETURNING scope_key;
