-- items: pieces of work, newest first. $1 text work type, $2 text scope ('' is all), $3
-- integer how many.
SELECT
	id, work_type, scope_key, state, phase, dedupe_key, generation, coalesce(fence, 0) AS fence,
	coalesce(owner, '') AS owner, claims, failures, crashes, run_at, created_at, started_at, lease_until, finished_at,
	coalesce(last_error, '') AS last_error, coalesce(last_class, '') AS last_class, head
FROM heyaira_loop.work_item
WHERE ($1::text = '' OR work_type = $1::text)
	AND ($2::text = '' OR scope_key = $2::text)
ORDER BY id DESC
LIMIT $3::integer;
