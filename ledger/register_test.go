package ledger_test

import (
	"sync"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func register(t testing.TB, db *ledger.DB, host string, digest string, policies []ledger.Policy, scopes ...ledger.Scope) {
	t.Helper()
	if err := db.Register(t.Context(), host, policies, scopes, digest); err != nil {
		t.Fatal(err)
	}
}

func capped(running int) []ledger.Policy {
	return []ledger.Policy{{WorkType: backups, Coalesces: true, MaxRunning: running, MaxRunningPerHost: 1}}
}

func TestRegisterPutsPoliciesAndScopesInForce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	policy := ledger.Policy{
		WorkType: backups, Coalesces: true, First: true, LeaseTTL: 10 * time.Minute,
		MaxRunning: 4, MaxRunningPerHost: 1, MaxPerMinute: 60, MaxQueued: 1000, MaxFailures: 6, MaxCrashes: 2, MaxClaims: 70,
		BackoffBase: time.Second, BackoffCap: time.Minute, BackoffFlat: true, BlockedWait: 2 * time.Minute, ReviveAfter: 24 * time.Hour,
	}
	scope := ledger.Scope{WorkType: backups, Key: "app", LeaseTTL: 5 * time.Minute, MaxFailures: 9, MaxRunning: 1, MinInterval: time.Hour, RPO: 24 * time.Hour, Unwatched: true}
	register(t, db, "h1", "d1", []ledger.Policy{policy, {WorkType: batches}}, scope, ledger.Scope{WorkType: backups, Key: "bare"})
	for what, wanted := range map[string]string{
		`SELECT concat_ws(' ', coalesces, goes_first, lease_ttl, max_running, max_running_per_host, max_per_minute, max_queued, max_failures, max_crashes,
			max_claims, backoff_base, backoff_cap, backoff_flat, blocked_wait, revive_after) FROM heyaira_loop.work_type WHERE name = 'backup'`: "t t 00:10:00 4 1 60 1000 6 2 70 00:00:01 00:01:00 t 00:02:00 24:00:00",
		`SELECT concat_ws(' ', coalesces, goes_first, lease_ttl, max_running, max_failures, max_crashes, max_claims, backoff_base, backoff_cap, backoff_flat, blocked_wait, revive_after)
			FROM heyaira_loop.work_type WHERE name = 'batch'`: "f f 00:01:00 5 3 50 00:00:05 01:00:00 f 00:15:00",
		`SELECT concat_ws(' ', generation, lease_ttl, max_failures, max_running, min_interval, rpo, watched) FROM heyaira_loop.scope WHERE scope_key = 'app'`:  "1099511627777 00:05:00 9 1 01:00:00 24:00:00 f",
		`SELECT concat_ws(' ', generation, lease_ttl, max_failures, max_running, min_interval, rpo, watched) FROM heyaira_loop.scope WHERE scope_key = 'bare'`: "1099511627777 00:00:00 t",
	} {
		if got := ask[string](t, l, what); got != wanted {
			t.Errorf("got %s, want %s", got, wanted)
		}
	}
	// What the ledger knows of a scope survives a change of its policy.
	want(t, ledger.Created, observe(t, db, saw("a")))
	scope.RPO = time.Hour
	register(t, db, "h1", "d2", []ledger.Policy{policy, {WorkType: batches}}, scope)
	if h := head(t, db, backups, "app"); h.ObservedMarker != "a" {
		t.Errorf("head after a change: %+v", h)
	}
	if got := ask[string](t, l, "SELECT rpo::text FROM heyaira_loop.scope WHERE scope_key = 'app'"); got != "01:00:00" {
		t.Errorf("rpo is %s", got)
	}
}

func TestStricterCapHoldsWhereHostsDiffer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	inForce := func() int {
		t.Helper()
		return ask[int](t, l, "SELECT coalesce(max_running, 0) FROM heyaira_loop.work_type")
	}
	differ := func() int {
		t.Helper()
		report, err := db.Status(t.Context(), ledger.StatusQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return len(report.Differ)
	}
	register(t, db, "h1", "d1", capped(4))
	register(t, db, "h2", "d2", capped(2))
	register(t, db, "h3", "d3", capped(0)) // no cap
	if inForce() != 2 || differ() != 1 {
		t.Errorf("cap %d, %d differences", inForce(), differ())
	}
	// A host that is gone for a week counts no more; one that still ticks does.
	l.sql(t, "UPDATE heyaira_loop.policy_seen SET seen_at = now() - interval '8 days' WHERE host = 'h2'")
	if err := db.Beat(t.Context(), "h2", "v", nil, 0); err != nil {
		t.Fatal(err)
	}
	register(t, db, "h1", "d1", capped(4))
	if inForce() != 2 {
		t.Errorf("cap %d while the stricter host ticks", inForce())
	}
	l.sql(t, "UPDATE heyaira_loop.beat SET ticked_at = now() - interval '8 days'")
	register(t, db, "h1", "d1", capped(4))
	if inForce() != 4 || differ() != 1 {
		t.Errorf("cap %d, %d differences when the host is gone", inForce(), differ())
	}
	register(t, db, "h3", "d1", capped(4))
	if differ() != 0 {
		t.Error("hosts that allow the same differ")
	}
	// What a host does not name any more is forgotten.
	register(t, db, "h1", "d4", nil)
	register(t, db, "h3", "d5", capped(9))
	if inForce() != 9 {
		t.Errorf("cap %d, want that of the only host left", inForce())
	}
}

func TestSurveyAnswersTheDigestForADay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	digest := func() string {
		t.Helper()
		survey, err := db.Heads(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return survey.Policy
	}
	if got := digest(); got != "" {
		t.Errorf("before: %q", got)
	}
	register(t, db, "h1", "d1", append(capped(1), ledger.Policy{WorkType: batches}))
	register(t, db, "h2", "d2", capped(1))
	if got := digest(); got != "d1" {
		t.Errorf("after: %q", got)
	}
	l.sql(t, "UPDATE heyaira_loop.policy_seen SET seen_at = now() - interval '25 hours'")
	if got := digest(); got != "" {
		t.Errorf("a day later: %q", got)
	}
}

func TestHostsThatRegisterAtOnceMissNoCap(t *testing.T) {
	t.Parallel()
	const hosts = 6
	l := newLab(t)
	var group sync.WaitGroup
	for n := range hosts {
		db := l.open(t)
		group.Go(func() {
			host := string(rune('a' + n))
			if err := db.Register(t.Context(), host, capped(n+1), []ledger.Scope{{WorkType: backups, Key: host}}, host); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := ask[int](t, l, "SELECT max_running FROM heyaira_loop.work_type"); got != 1 {
		t.Errorf("cap %d, want the strictest", got)
	}
}

func TestBeatNotesHowObserversFared(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	register(t, db, "h1", "d", capped(1), ledger.Scope{WorkType: backups, Key: "well"}, ledger.Scope{WorkType: backups, Key: "ill"})
	looks := func(failure string) []ledger.Look {
		return []ledger.Look{{WorkType: backups, Scope: "well"}, {WorkType: backups, Scope: "ill", Error: failure}, {WorkType: backups, Scope: "unheard of"}}
	}
	beat := func(failure string) {
		t.Helper()
		if err := db.Beat(t.Context(), "h1", "v1", looks(failure), 1500*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	observed := func(scope string) time.Time {
		t.Helper()
		at := ask[*time.Time](t, l, "SELECT observed_at FROM heyaira_loop.scope WHERE scope_key = $1", scope)
		if at == nil {
			return time.Time{}
		}
		return *at
	}
	beat("no \xffaccess\x00")
	if got := ask[string](t, l, "SELECT concat_ws(' ', host, version, scopes, took) FROM heyaira_loop.beat"); got != "h1 v1 3 00:00:01.5" {
		t.Errorf("beat is %s", got)
	}
	if got := head(t, db, backups, "ill").ObserveError; got != "no \uFFFDaccess" || !observed("ill").IsZero() {
		t.Errorf("error %q, observed at %s", got, observed("ill"))
	}
	first := observed("well")
	if first.IsZero() {
		t.Error("a good look left no trace")
	}
	// A quiet scope is not written at each beat, but before it could seem unobserved.
	beat("no access")
	if !observed("well").Equal(first) {
		t.Error("a good look was written twice within a moment")
	}
	l.sql(t, "UPDATE heyaira_loop.scope SET observed_at = now() - interval '6 minutes'")
	beat("")
	if age := time.Since(observed("well")); age > time.Minute {
		t.Errorf("note is %s old", age)
	}
	if got := head(t, db, backups, "ill").ObserveError; got != "" || observed("ill").IsZero() {
		t.Errorf("well again: %q, %s", got, observed("ill"))
	}
}

func TestHeadsAnswerInTheOrderAsked(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	register(t, db, "h1", "d", append(capped(1), ledger.Policy{WorkType: batches}),
		ledger.Scope{WorkType: backups, Key: "app"}, ledger.Scope{WorkType: backups, Key: "b"}, ledger.Scope{WorkType: batches, Key: "s"})
	if err := db.RememberStore(t.Context(), "local", "00000000-0000-4000-8000-000000000001"); err != nil {
		t.Fatal(err)
	}
	observe(t, db, ledger.Observation{WorkType: batches, Scope: "s", Key: "k"})
	l.exec(t, "pause_type", backups, nil)
	l.exec(t, "gate", batches, "s", "sample too small")
	survey, err := db.Heads(t.Context(), []ledger.Pair{{batches, "s"}, {backups, "none"}, {backups, "b"}, {backups, "app"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range survey.Heads {
		got = append(got, h.WorkType+"/"+h.Scope)
		if h.Ticket != survey.Ticket || !h.Now.Equal(survey.Now) || h.Stores["local"] != "00000000-0000-4000-8000-000000000001" {
			t.Errorf("head of %s does not carry the survey's: %+v", h.Scope, h)
		}
	}
	if len(got) != 4 || got[0] != "batch/s" || got[1] != "backup/none" || got[2] != "backup/b" || got[3] != "backup/app" {
		t.Errorf("answered %v", got)
	}
	s, none, b := survey.Heads[0], survey.Heads[1], survey.Heads[2]
	if !s.Active || s.Gate != "sample too small" || s.Paused || !s.Known {
		t.Errorf("batch: %+v", s)
	}
	if none.Known || none.Generation != 0 || !none.Paused {
		t.Errorf("unknown: %+v", none)
	}
	if !b.Known || !b.Paused || b.Active || b.Generation != lease.NewSerial(1, 1) {
		t.Errorf("idle: %+v", b)
	}
	if survey.Ledger.Environment != "test" || survey.Ledger.Epoch != 1 || len(survey.Ledger.ID) != 36 || survey.Ticket.Epoch() != 1 {
		t.Errorf("survey: %+v", survey)
	}
	next, err := db.Heads(t.Context(), nil)
	if err != nil || next.Ticket <= survey.Ticket || len(next.Heads) != 0 {
		t.Errorf("survey without scopes: %+v, %v", next, err)
	}
}
