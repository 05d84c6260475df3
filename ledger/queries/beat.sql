-- beat: one turn after a tick: the tick was here, and how each observer fared.
-- $1 text host ('' for a tick that looked at a part only: that is no beat), $2 text
-- version of the program, $3 text[] work types, $4 text[] scopes, $5 text[] errors (''
-- where the look went well), $6 interval how old a note may grow before it is written
-- again, $7 interval how long the tick took.
-- A quiet scope is written seldom, so an idle tick stays cheap, but often enough that
-- status can tell a scope that nobody looks at from one that is idle.
WITH looked AS MATERIALIZED (
	SELECT s.work_type, s.scope_key, nullif(a.error, '') AS error
	FROM (
		SELECT DISTINCT ON (work_type, scope_key) *
		FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS u (work_type, scope_key, error, n)
		ORDER BY work_type, scope_key, n DESC
	) AS a
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE s.observe_error IS DISTINCT FROM nullif(a.error, '')
		OR a.error = '' AND (s.observed_at IS NULL OR s.observed_at < statement_timestamp() - $6::interval)
	ORDER BY s.work_type, s.scope_key
	FOR NO KEY UPDATE OF s SKIP LOCKED
),
noted AS (
	UPDATE heyaira_loop.scope s
	SET observe_error = l.error,
		observed_at = CASE WHEN l.error IS NULL THEN statement_timestamp() ELSE s.observed_at END
	FROM looked l
	WHERE s.work_type = l.work_type AND s.scope_key = l.scope_key
	RETURNING s.scope_key
)
INSERT INTO heyaira_loop.beat AS b (host, ticked_at, version, scopes, took)
SELECT $1::text, statement_timestamp(), $2::text, cardinality($3::text[]), $7::interval
WHERE (SELECT count(*) FROM noted) >= 0 AND $1::text <> ''
ON CONFLICT (host) DO UPDATE
SET ticked_at = EXCLUDED.ticked_at,
	version = EXCLUDED.version,
	scopes = EXCLUDED.scopes,
	took = EXCLUDED.took;
