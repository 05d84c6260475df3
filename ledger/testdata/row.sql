-- row: an item as it stands.
SELECT
	state, phase, dedupe_key, generation, run_at, fence, owner, lease_until, started_at IS NOT NULL,
	progress_bytes, progress_stage, result::text, result_marker, result_ticket, result_at,
	claims - claims_base, failures - failures_base, crashes - crashes_base,
	last_error, last_class, evidence::text, event_no, head, finished_at
FROM heyaira_loop.work_item
WHERE id = $1::bigint;
