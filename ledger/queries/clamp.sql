-- clamp: a lease or a wait that lies further ahead than any statement puts it was
-- written while the clock stood wrong. Pulled back to the longest legal value, or
-- one step of the clock would keep work away for as long as the step was.
-- $1 integer limit.
-- No receipt: nothing but a time has changed.
WITH far AS (
	-- No holder trusts a lease beyond one TTL from its last renewal.
	SELECT w.id, clock_timestamp() + 2 * coalesce(s.lease_ttl, t.lease_ttl) AS lease_until, NULL::timestamptz AS run_at
	FROM heyaira_loop.work_item w
	JOIN heyaira_loop.work_type t ON t.name = w.work_type
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	WHERE w.state = 'leased'
		AND w.lease_until > statement_timestamp() + 2 * coalesce(s.lease_ttl, t.lease_ttl)
	UNION ALL
	-- Work that was tried waits for its next try, the rest for what its creation said
	-- (a window, an interval), counted from now where that lies in the future.
	SELECT w.id, NULL, clock_timestamp() + f.wait
	FROM heyaira_loop.work_type t
	CROSS JOIN LATERAL (
		SELECT q.id, q.run_at, q.created_at, q.claims
		FROM heyaira_loop.work_item q
		WHERE q.work_type = t.name AND q.state = 'queued' AND q.coalesces AND q.run_at > statement_timestamp()
		UNION ALL
		SELECT q.id, q.run_at, q.created_at, q.claims
		FROM heyaira_loop.work_item q
		WHERE q.work_type = t.name AND q.state = 'queued' AND NOT q.coalesces AND q.run_at > statement_timestamp()
	) AS w
	CROSS JOIN LATERAL (
		SELECT CASE
			WHEN w.claims > 0 THEN greatest(t.blocked_wait, t.backoff_base, t.backoff_cap)
			-- Pulled back once it runs before it was made, and says nothing more.
			WHEN w.created_at > statement_timestamp() AND w.run_at >= w.created_at THEN w.run_at - w.created_at
		END
	) AS f (wait)
	WHERE w.run_at > statement_timestamp() + f.wait
),
held AS MATERIALIZED (
	SELECT w.id, f.lease_until, f.run_at
	FROM far f
	JOIN heyaira_loop.work_item w ON w.id = f.id
	WHERE (w.state = 'leased') = (f.lease_until IS NOT NULL)
		AND (w.lease_until > f.lease_until OR w.run_at > f.run_at)
	ORDER BY w.id
	LIMIT $1::integer
	FOR NO KEY UPDATE OF w SKIP LOCKED
)
UPDATE heyaira_loop.work_item w
SET lease_until = coalesce(h.lease_until, w.lease_until),
	run_at = coalesce(h.run_at, w.run_at)
FROM held h
WHERE w.id = h.id
RETURNING w.id;
