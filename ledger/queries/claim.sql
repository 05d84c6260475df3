-- claim: lease eligible work of one type.
-- $1 text work type, $2 text[] the scopes that this host's configuration knows,
-- $3 integer limit, $4 text owner (host:pid:64 random bits). Runs after claim_lock
-- in the same transaction.
-- The owner is new for each invocation. Sent again by the same owner, because a
-- reply was lost, it answers what that owner holds already and has not started;
-- this counts towards the limit.
WITH RECURSIVE policy AS MATERIALIZED (
	SELECT
		t.name,
		t.coalesces,
		t.turn,
		t.lease_ttl,
		-- least passes over a cap that is NULL.
		greatest(0, least(
			$3::integer - l.mine,
			t.max_running - l.total,
			t.max_running_per_host - l.of_host,
			t.max_per_minute - CASE WHEN t.minute = date_trunc('minute', statement_timestamp()) THEN t.minute_claims ELSE 0 END
		)) AS free
	FROM heyaira_loop.work_type t
	CROSS JOIN LATERAL (
		SELECT
			count(*) AS total,
			count(*) FILTER (WHERE split_part(w.owner, ':', 1) = split_part($4::text, ':', 1)) AS of_host,
			count(*) FILTER (WHERE w.owner = $4::text AND w.started_at IS NULL AND w.lease_until > statement_timestamp()) AS mine
		FROM heyaira_loop.work_item w
		WHERE w.work_type = t.name AND w.state = 'leased'
	) AS l
	WHERE t.name = $1::text
		AND NOT (t.paused AND coalesce(t.paused_until > statement_timestamp(), true))
),
-- A scope that coalesces has one item on its way, so oldest first is fair. A limit
-- that is NULL is none at all: hence the coalesce here and below.
due AS MATERIALIZED (
	SELECT w.id, row_number() OVER (ORDER BY w.priority, w.run_at, w.id) AS place
	FROM (
		SELECT w.id, w.priority, w.run_at
		FROM heyaira_loop.work_item w
		JOIN heyaira_loop.scope s USING (work_type, scope_key)
		WHERE w.work_type = $1::text
			AND w.coalesces
			AND w.state = 'queued'
			AND w.run_at <= statement_timestamp()
			AND w.scope_key = ANY ($2::text[])
			AND NOT (s.paused AND coalesce(s.paused_until > statement_timestamp(), true))
			AND s.gate IS NULL
		ORDER BY w.priority, w.run_at, w.id
		LIMIT coalesce((SELECT free FROM policy WHERE coalesces), 0)
	) AS w
),
-- Other scopes hold many items and take turns: the walk reads one index entry a
-- scope, each gets the same share, never more than its own cap leaves, and those
-- after the scope that was served last (work_type.turn) come first. A backlog of
-- any length delays only its own scope.
walk AS (
	(
		SELECT w.scope_key
		FROM heyaira_loop.work_item w
		WHERE w.work_type = $1::text AND w.state = 'queued' AND NOT w.coalesces
		ORDER BY w.scope_key
		LIMIT coalesce((SELECT 1 FROM policy WHERE NOT coalesces AND free > 0), 0)
	)
	UNION ALL
	SELECT n.scope_key
	FROM walk k
	CROSS JOIN LATERAL (
		SELECT w.scope_key
		FROM heyaira_loop.work_item w
		WHERE w.work_type = $1::text AND w.state = 'queued' AND NOT w.coalesces AND w.scope_key > k.scope_key
		ORDER BY w.scope_key
		LIMIT 1
	) AS n
),
-- Each scope's next items, numbered: the first of every scope come before the
-- second of any.
share AS (
	SELECT i.id, k.scope_key, i.rank, k.scope_key <= p.turn AS served
	FROM walk k
	CROSS JOIN policy p
	JOIN heyaira_loop.scope s ON s.work_type = $1::text AND s.scope_key = k.scope_key
	CROSS JOIN LATERAL (
		SELECT q.id, row_number() OVER (ORDER BY q.priority, q.run_at, q.id) AS rank
		FROM (
			SELECT w.id, w.priority, w.run_at
			FROM heyaira_loop.work_item w
			WHERE w.work_type = $1::text
				AND w.scope_key = k.scope_key
				AND w.state = 'queued'
				AND NOT w.coalesces
				AND w.run_at <= statement_timestamp()
			ORDER BY w.priority, w.run_at, w.id
			LIMIT greatest(0, least($3::integer, p.free, s.max_running - (
				SELECT count(*)
				FROM heyaira_loop.work_item l
				WHERE l.work_type = s.work_type AND l.scope_key = s.scope_key AND l.state = 'leased')))
		) AS q
	) AS i
	WHERE k.scope_key = ANY ($2::text[])
		AND NOT (s.paused AND coalesce(s.paused_until > statement_timestamp(), true))
		AND s.gate IS NULL
),
-- The outer limit tells the planner what the inner ones hide from it: without it
-- a tenth of the table is expected, and all of it is read to find one item.
chosen AS MATERIALIZED (
	SELECT *
	FROM (
		SELECT id, place
		FROM due
		UNION ALL
		(
			SELECT id, row_number() OVER (ORDER BY rank, served, scope_key) AS place
			FROM (
				SELECT id, rank, served, scope_key
				FROM share
				ORDER BY rank, served, scope_key
				LIMIT coalesce((SELECT free FROM policy WHERE NOT coalesces), 0)
			) AS s
		)
	) AS c
	LIMIT $3::integer
),
-- claim_lock keeps other claimers of the type out; whoever else changed a row
-- since the snapshot is noticed by the state being looked at under the lock.
held AS MATERIALIZED (
	SELECT w.*, c.place
	FROM chosen c
	JOIN heyaira_loop.work_item w USING (id)
	WHERE w.state = 'queued'
	ORDER BY w.id
	FOR NO KEY UPDATE OF w SKIP LOCKED
),
-- The fence is drawn after the row is locked: within a scope it only grows.
next AS MATERIALIZED (
	SELECT h.*, nextval('heyaira_loop.fence_seq') AS new_fence
	FROM held h
),
told AS MATERIALIZED (
	SELECT n.*,
		heyaira_loop.receipt(n.head, n.id, n.event_no + 1, statement_timestamp(), 'claimed', $4::text, n.new_fence, NULL) AS digest
	FROM next n
),
upd AS (
	UPDATE heyaira_loop.work_item w
	SET state = 'leased',
		fence = t.new_fence,
		owner = $4::text,
		lease_until = clock_timestamp() + coalesce(s.lease_ttl, p.lease_ttl),
		claims = t.claims + 1,
		event_no = t.event_no + 1,
		head = t.digest
	FROM told t
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	CROSS JOIN policy p
	WHERE w.id = t.id
	RETURNING w.*, coalesce(s.lease_ttl, p.lease_ttl) AS ttl, t.place
),
ev AS (
	INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, owner, fence, digest)
	SELECT id, event_no + 1, statement_timestamp(), 'claimed', $4::text, new_fence, digest
	FROM told
	RETURNING item_id
),
counted AS (
	UPDATE heyaira_loop.work_type t
	SET turn = CASE WHEN t.coalesces THEN t.turn ELSE (SELECT scope_key FROM told ORDER BY place DESC LIMIT 1) END,
		minute = date_trunc('minute', statement_timestamp()),
		minute_claims = (SELECT count(*) FROM told)
			+ CASE WHEN t.minute = date_trunc('minute', statement_timestamp()) THEN t.minute_claims ELSE 0 END
	WHERE t.name = $1::text
		AND (NOT t.coalesces OR t.max_per_minute IS NOT NULL)
		AND EXISTS (SELECT FROM told)
	RETURNING t.name
)
SELECT
	id, work_type, scope_key, dedupe_key, generation, phase, fence, owner, lease_until, ttl, claims,
	observed_marker, payload::text, head, result::text, result_marker, result_ticket, result_at,
	clock_timestamp() AS now
FROM (
	SELECT *
	FROM upd
	UNION ALL
	SELECT w.*, coalesce(s.lease_ttl, p.lease_ttl), 0
	FROM heyaira_loop.work_item w
	JOIN heyaira_loop.scope s USING (work_type, scope_key)
	JOIN policy p ON p.name = w.work_type
	WHERE w.work_type = $1::text
		AND w.state = 'leased'
		AND w.owner = $4::text
		AND w.started_at IS NULL
		AND w.lease_until > statement_timestamp()
) AS leased
WHERE (SELECT count(*) FROM ev) >= 0
	AND (SELECT count(*) FROM counted) >= 0
ORDER BY place, id;
