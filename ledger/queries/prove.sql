-- prove: a stored backup was proven once more. $1 text work type, $2 text scope, $3 text
-- backup, $4 text level, $5 text fingerprint of the identity that opened it ('' if none).
INSERT INTO heyaira_loop.backup_proof (work_type, scope_key, backup, level, identity)
VALUES ($1::text, $2::text, $3::text, $4::text, nullif($5::text, ''))
ON CONFLICT DO NOTHING;
