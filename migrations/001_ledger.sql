-- The ledger: every table that the loop itself needs. Forward only.
--
-- Lock order in every statement: work_type, work_item (by id), coverage,
-- scope (by key), effect_intent, ledger_identity. A statement that could wait in another order
-- skips locked rows instead and leaves the rest to the next beat.

-- The schema itself is made by migrate, which keeps its version table there.

-- One number for every fence and one for every observation. These and a scope's
-- generation hold the epoch in their upper bits and are moved on by adopt, so a
-- plain > holds between a row from before a restore and one from after it.
-- CACHE 1: a session cache would hand out numbers out of order.
CREATE SEQUENCE heyaira_loop.fence_seq AS bigint MINVALUE 1099511627776 START WITH 1099511627777 CACHE 1;
CREATE SEQUENCE heyaira_loop.ticket_seq AS bigint MINVALUE 1099511627776 START WITH 1099511627777 CACHE 1;

-- Shown form of a fence: epoch:number. A text, so that no JSON reader rounds it.
CREATE FUNCTION heyaira_loop.fence_text(fence bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (fence >> 40)::text || ':' || (fence & 1099511627775)::text;

-- The one form of a time inside a receipt: UTC, microseconds, no session setting.
CREATE FUNCTION heyaira_loop.time_text(at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Digest of one receipt. The object is written by hand because jsonb orders
-- keys by length and re-spells numbers. Keys stand in UTF-16 order; to_json of
-- a text escapes exactly what ECMAScript's JSON.stringify does; detail enters
-- as the hash of its stored bytes, so it needs no canonical form of its own.
CREATE FUNCTION heyaira_loop.receipt(
	prev text, item_id bigint, event_no integer, at timestamptz,
	kind text, owner text, fence bigint, detail json
) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'sha256:dreamnet-sorted-json:v0:' || encode(sha256(convert_to(
	'{"at":' || to_json(heyaira_loop.time_text(at))::text
	|| ',"detail":' || coalesce('"' || encode(sha256(convert_to(detail::text, 'UTF8')), 'hex') || '"', 'null')
	|| ',"event":' || to_json(kind)::text
	|| ',"fence":' || coalesce(to_json(heyaira_loop.fence_text(fence))::text, 'null')
	|| ',"item":' || to_json(item_id::text)::text
	|| ',"no":' || event_no::text
	|| ',"owner":' || coalesce(to_json(owner)::text, 'null')
	|| ',"prev":' || coalesce(to_json(prev)::text, 'null')
	|| '}', 'UTF8')), 'hex');

-- Exponential backoff with jitter and a cap; flat where the type says so.
CREATE FUNCTION heyaira_loop.backoff(base interval, cap interval, flat boolean, tries integer) RETURNS interval
LANGUAGE sql VOLATILE
RETURN CASE
	WHEN flat THEN base
	ELSE least(cap, base * power(2, least(tries, 20))) * (0.5 + random() * 0.5)
END;

-- Who this ledger is. The system identifier alone does not change when the
-- database is restored beside itself, nor when a disk or a point in time is;
-- oid and timeline catch the first and the third, the witness in the store
-- (the newest manifest's head digest) the rest. One row, written by migrate.
-- event_no and head carry the ledger's own chain of receipts (item 0): what
-- happens to no item stands there.
CREATE TABLE heyaira_loop.ledger_identity (
	singleton         boolean PRIMARY KEY DEFAULT true,
	id                uuid NOT NULL DEFAULT gen_random_uuid(),
	former            uuid[] NOT NULL DEFAULT '{}',
	environment       text NOT NULL,
	epoch             integer NOT NULL DEFAULT 1,
	system_identifier bigint NOT NULL,
	database_oid      oid NOT NULL,
	timeline          text NOT NULL,
	-- The oldest program (ledger.Protocol) that may use this ledger.
	min_program       integer NOT NULL DEFAULT 1,
	adopted_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
	event_no          integer NOT NULL DEFAULT 0,
	head              text,
	CONSTRAINT ledger_identity_only CHECK (singleton),
	CONSTRAINT ledger_identity_environment CHECK (octet_length(environment) BETWEEN 1 AND 63),
	CONSTRAINT ledger_identity_epoch CHECK (epoch BETWEEN 1 AND 8191)
);

-- The policy in force of each work type: where hosts differ, the stricter caps.
CREATE TABLE heyaira_loop.work_type (
	name           text PRIMARY KEY,
	coalesces      boolean NOT NULL,
	lease_ttl      interval NOT NULL DEFAULT '60 seconds',
	max_running    integer,
	max_running_per_host integer,
	max_per_minute integer,
	max_queued     integer,
	max_failures   integer NOT NULL DEFAULT 5,
	max_crashes    integer NOT NULL DEFAULT 3,
	max_claims     integer NOT NULL DEFAULT 50,
	backoff_base   interval NOT NULL DEFAULT '5 seconds',
	backoff_cap    interval NOT NULL DEFAULT '1 hour',
	backoff_flat   boolean NOT NULL DEFAULT false,
	blocked_wait   interval NOT NULL DEFAULT '15 minutes',
	-- After how long quarantined work comes back by itself; NULL waits for a person.
	revive_after   interval,
	paused         boolean NOT NULL DEFAULT false,
	paused_until   timestamptz,
	pause_note     text,
	-- Claimed before the types without it (notices).
	goes_first     boolean NOT NULL DEFAULT false,
	-- Claim's own memory, changed only under this row's lock.
	minute         timestamptz,
	minute_claims  integer NOT NULL DEFAULT 0,
	turn           text NOT NULL DEFAULT '',
	CONSTRAINT work_type_ceilings CHECK (max_failures > 0 AND max_crashes > 0 AND max_claims > 0),
	CONSTRAINT work_type_caps CHECK (max_running > 0 AND max_running_per_host > 0 AND max_per_minute > 0 AND max_queued > 0),
	CONSTRAINT work_type_lease CHECK (lease_ttl >= '1 second')
);

-- Head of one protected thing. generation is the number of its next
-- publication: it moves on when one is covered, refuted or lost, never back,
-- and the row is never deleted. An effect that publishes is keyed by scope and
-- generation: an attempt that was abandoned tries the same key again, a new
-- change has a new one, and so has the same marker after its cover was lost.
CREATE TABLE heyaira_loop.scope (
	work_type       text NOT NULL REFERENCES heyaira_loop.work_type,
	scope_key       text NOT NULL,
	generation      bigint NOT NULL,
	min_interval    interval NOT NULL DEFAULT '0',
	rpo             interval,
	-- NULL leaves the type's policy in force.
	lease_ttl       interval,
	max_failures    integer,
	max_running     integer,
	paused          boolean NOT NULL DEFAULT false,
	paused_until    timestamptz,
	pause_note      text,
	gate            text,
	streak          integer NOT NULL DEFAULT 0,
	-- false for scopes that nobody observes (batches, notices): they cannot be unobservable.
	watched         boolean NOT NULL DEFAULT true,
	observed_marker text,
	observed_ticket bigint NOT NULL DEFAULT 0,
	observed_at     timestamptz,
	observe_error   text,
	uncovered_since timestamptz,
	next_run_at     timestamptz,
	-- What the observer has to remember from one tick to the next.
	memo            json,
	-- The item made last: the next creation's receipt holds its head, so that a removed
	-- item leaves a gap.
	last_item       bigint,
	registered_at   timestamptz NOT NULL DEFAULT statement_timestamp(),
	PRIMARY KEY (work_type, scope_key),
	CONSTRAINT scope_key_length CHECK (octet_length(scope_key) BETWEEN 1 AND 512),
	CONSTRAINT scope_error_length CHECK (octet_length(observe_error) <= 4096),
	CONSTRAINT scope_memo_length CHECK (octet_length(memo::text) <= 65536),
	CONSTRAINT scope_caps CHECK (max_running > 0 AND max_failures > 0 AND lease_ttl >= '1 second')
) WITH (fillfactor = 80);

CREATE TABLE heyaira_loop.work_item (
	id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	work_type       text NOT NULL,
	scope_key       text NOT NULL,
	dedupe_key      text NOT NULL,
	coalesces       boolean NOT NULL,
	generation      bigint NOT NULL,
	state           text NOT NULL DEFAULT 'queued',
	phase           text NOT NULL DEFAULT 'run',
	priority        smallint NOT NULL DEFAULT 100,
	run_at          timestamptz NOT NULL,
	observed_ticket bigint NOT NULL,
	observed_marker text NOT NULL,
	payload         json NOT NULL DEFAULT '{}',
	-- The lease: fence and owner together are the holder. The owner carries 64
	-- random bits, so a fence number that a failover hands out twice fits nobody else.
	fence           bigint,
	owner           text,
	lease_until     timestamptz,
	started_at      timestamptz,
	-- How far the work has come, for status; written by renewals.
	progress_bytes  bigint,
	progress_stage  text,
	-- What run found; kept so that a verify that died is taken up again.
	result          json,
	result_marker   text,
	result_ticket   bigint,
	result_at       timestamptz,
	-- Counters never fall; a requeue moves the base instead.
	claims          integer NOT NULL DEFAULT 0,
	failures        integer NOT NULL DEFAULT 0,
	crashes         integer NOT NULL DEFAULT 0,
	claims_base     integer NOT NULL DEFAULT 0,
	failures_base   integer NOT NULL DEFAULT 0,
	crashes_base    integer NOT NULL DEFAULT 0,
	last_error      text,
	last_class      text,
	evidence        json,
	event_no        integer NOT NULL DEFAULT 1,
	head            text NOT NULL,
	created_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
	finished_at     timestamptz,
	FOREIGN KEY (work_type, scope_key) REFERENCES heyaira_loop.scope,
	CONSTRAINT work_item_dedupe UNIQUE (work_type, scope_key, dedupe_key),
	CONSTRAINT work_item_state CHECK (state IN ('queued', 'leased', 'done', 'failed', 'quarantined', 'cancelled')),
	CONSTRAINT work_item_phase CHECK (phase IN ('run', 'verify')),
	CONSTRAINT work_item_lease CHECK (
		(state = 'leased') = (owner IS NOT NULL)
		AND (state = 'leased') = (lease_until IS NOT NULL)
		AND (state <> 'leased' OR fence IS NOT NULL)
		AND (state = 'leased' OR started_at IS NULL)),
	CONSTRAINT work_item_finished CHECK ((state IN ('done', 'failed', 'quarantined', 'cancelled')) = (finished_at IS NOT NULL)),
	CONSTRAINT work_item_result CHECK ((phase = 'verify') = (result IS NOT NULL)),
	CONSTRAINT work_item_covering CHECK (NOT coalesces OR phase = 'run' OR (result_marker IS NOT NULL AND result_ticket IS NOT NULL AND result_at IS NOT NULL)),
	CONSTRAINT work_item_proven CHECK (state <> 'done' OR (phase = 'verify' AND evidence IS NOT NULL)),
	CONSTRAINT work_item_bounds CHECK (
		octet_length(dedupe_key) BETWEEN 1 AND 640
		AND octet_length(observed_marker) <= 65536
		AND octet_length(result_marker) <= 65536
		AND octet_length(progress_stage) <= 64
		AND octet_length(payload::text) <= 65536
		AND octet_length(result::text) <= 65536
		AND octet_length(evidence::text) <= 65536
		AND octet_length(last_error) <= 4096)
) WITH (
	fillfactor = 80,
	autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
	autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0
);

-- At most one piece of work on its way for a scope that coalesces. queued and
-- leased stand in one predicate, so that taking work back cannot break it.
CREATE UNIQUE INDEX work_item_active ON heyaira_loop.work_item (work_type, scope_key) WHERE coalesces AND state IN ('queued', 'leased');
-- Claim order. A coalescing scope has one item, so oldest first is fair; the
-- others take turns by scope. No index holds lease_until: renewals stay HOT.
CREATE INDEX work_item_due ON heyaira_loop.work_item (work_type, priority, run_at, id) WHERE state = 'queued' AND coalesces;
CREATE INDEX work_item_turn ON heyaira_loop.work_item (work_type, scope_key, priority, run_at, id) WHERE state = 'queued' AND NOT coalesces;
CREATE INDEX work_item_leased ON heyaira_loop.work_item (work_type, scope_key) WHERE state = 'leased';
CREATE INDEX work_item_ended ON heyaira_loop.work_item (work_type, scope_key, id) WHERE state IN ('failed', 'quarantined');
CREATE INDEX work_item_finished_at ON heyaira_loop.work_item (finished_at) WHERE state IN ('done', 'cancelled');

-- No foreign key: its check would lock the item once more for each event, and every
-- insert names an item that its own statement has locked.
CREATE TABLE heyaira_loop.work_event (
	item_id  bigint NOT NULL,
	event_no integer NOT NULL,
	at       timestamptz NOT NULL,
	kind     text NOT NULL,
	owner    text,
	fence    bigint,
	detail   json,
	digest   text NOT NULL,
	PRIMARY KEY (item_id, event_no)
);

-- What is proven, never deleted: a row without a marker says that nothing is.
CREATE TABLE heyaira_loop.coverage (
	work_type  text NOT NULL,
	scope_key  text NOT NULL,
	generation bigint NOT NULL,
	marker     text,
	ticket     bigint NOT NULL,
	taken_at   timestamptz NOT NULL,
	item_id    bigint,
	fence      bigint NOT NULL,
	evidence   json NOT NULL,
	covered_at timestamptz NOT NULL,
	PRIMARY KEY (work_type, scope_key),
	FOREIGN KEY (work_type, scope_key) REFERENCES heyaira_loop.scope
) WITH (fillfactor = 80);

CREATE TABLE heyaira_loop.effect_intent (
	effect_key text PRIMARY KEY,
	kind       text NOT NULL,
	item_id    bigint NOT NULL,
	-- Who claimed it. A fence goes on from run to verify, the process does not: what one
	-- of them left open the other may not fire.
	fence      bigint NOT NULL,
	owner      text NOT NULL,
	state      text NOT NULL DEFAULT 'intent',
	target     json NOT NULL,
	tries      integer NOT NULL DEFAULT 1,
	evidence   json,
	intended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	settled_at timestamptz,
	CONSTRAINT effect_intent_state CHECK (state IN ('intent', 'committed', 'abandoned', 'unknown')),
	CONSTRAINT effect_intent_evidence CHECK ((state = 'committed') = (evidence IS NOT NULL)),
	CONSTRAINT effect_intent_settled CHECK ((state = 'intent') = (settled_at IS NULL))
);
CREATE INDEX effect_intent_open ON heyaira_loop.effect_intent (kind, intended_at) WHERE state IN ('intent', 'unknown');

CREATE TABLE heyaira_loop.beat (
	host     text PRIMARY KEY,
	ticked_at timestamptz NOT NULL,
	version  text NOT NULL,
	scopes   integer NOT NULL,
	took     interval NOT NULL DEFAULT '0'
);

-- What each host's configuration allows, by work type. work_type holds the
-- stricter of them; status tells where hosts differ.
CREATE TABLE heyaira_loop.policy_seen (
	host                 text NOT NULL,
	work_type            text NOT NULL,
	-- Of the host's whole configuration, and of this type's policy alone.
	digest               text NOT NULL,
	policy               text NOT NULL,
	max_running          integer,
	max_running_per_host integer,
	max_per_minute       integer,
	max_queued           integer,
	seen_at              timestamptz NOT NULL DEFAULT statement_timestamp(),
	PRIMARY KEY (host, work_type)
);

-- The stores that work of this ledger was published in. A store that is known and
-- cannot show its id is unreachable; one that shows another id is refused.
CREATE TABLE heyaira_loop.known_store (
	name       text PRIMARY KEY,
	id         uuid NOT NULL,
	known_since timestamptz NOT NULL DEFAULT statement_timestamp()
);

-- What was proven of a stored backup after its first proof, and which identity
-- opened it: key_check reads the newest row with an identity.
CREATE TABLE heyaira_loop.backup_proof (
	work_type text NOT NULL,
	scope_key text NOT NULL,
	backup    text NOT NULL,
	level     text NOT NULL,
	proven_at timestamptz NOT NULL DEFAULT statement_timestamp(),
	identity  text,
	PRIMARY KEY (work_type, scope_key, backup, level, proven_at),
	CONSTRAINT backup_proof_level CHECK (level IN ('size', 'hash', 'content', 'restore'))
);
