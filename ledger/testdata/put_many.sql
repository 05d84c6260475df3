-- put_many: $3 integer items of one scope that does not coalesce, oldest first.
WITH ins AS (
	INSERT INTO heyaira_loop.work_item
		(work_type, scope_key, dedupe_key, coalesces, generation, run_at, observed_ticket, observed_marker, head)
	SELECT $1::text, $2::text, 'k' || n, false, s.generation, clock_timestamp() - '1 hour'::interval + n * '1 ms'::interval, 0, '', 'none'
	FROM heyaira_loop.scope s
	CROSS JOIN generate_series(1, $3::integer) AS n
	WHERE s.work_type = $1::text AND s.scope_key = $2::text
	RETURNING id
)
SELECT count(*)
FROM ins;
