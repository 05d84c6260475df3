package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func report(t testing.TB, db *ledger.DB) ledger.Report {
	t.Helper()
	r, err := db.Status(t.Context(), ledger.StatusQuery{Beat: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// New, idle, due, overdue, failing, unobservable, paused and gated are different
// answers, the worst is the word, and work on its way hides none of them.
func TestStatusSaysTheWorstAndHidesNothing(t *testing.T) {
	t.Parallel()
	const overdue = "UPDATE heyaira_loop.scope SET rpo = '1 hour', uncovered_since = now() - interval '2 hours'"
	const unseen = "UPDATE heyaira_loop.scope SET observed_at = now() - interval '11 minutes'"
	tests := []struct {
		name    string
		prepare func(t *testing.T, l *lab, db *ledger.DB)
		state   ledger.State
		facts   string // that hold, in the states' order
		does    ledger.Activity
		heldBy  string
	}{
		{"New", nil, ledger.New, "new", "", ""},
		{"NewAndNeverLookedAt", func(t *testing.T, l *lab, db *ledger.DB) {
			l.sql(t, "UPDATE heyaira_loop.scope SET registered_at = now() - interval '11 minutes'")
		}, ledger.Unobservable, "unobservable new", "", ""},
		{"NeverLookedAtIsFineWhereNobodyLooks", func(t *testing.T, l *lab, db *ledger.DB) {
			l.sql(t, "UPDATE heyaira_loop.scope SET registered_at = now() - interval '11 minutes', watched = false")
		}, ledger.New, "new", "", ""},
		{"Idle", covered, ledger.Idle, "", "", ""},
		{"IdleAndUnobservable", func(t *testing.T, l *lab, db *ledger.DB) {
			covered(t, l, db)
			l.sql(t, unseen)
		}, ledger.Unobservable, "unobservable", "", ""},
		{"LookFailed", func(t *testing.T, l *lab, db *ledger.DB) {
			covered(t, l, db)
			_ = db.Beat(t.Context(), "h1", "v", []ledger.Look{{WorkType: backups, Scope: "app", Error: "no"}}, 0)
		}, ledger.Unobservable, "unobservable", "", ""},
		{"Due", func(t *testing.T, l *lab, db *ledger.DB) {
			covered(t, l, db)
			observe(t, db, saw("b"))
		}, ledger.Due, "due", ledger.Queued, ""},
		{"DueAndNew", func(t *testing.T, l *lab, db *ledger.DB) { observe(t, db, saw("a")) }, ledger.Due, "due new", ledger.Queued, ""},
		{"Claimed", func(t *testing.T, l *lab, db *ledger.DB) {
			observe(t, db, saw("a"))
			claimOne(t, db, backups, "app")
		}, ledger.Due, "due new running", ledger.Claimed, ""},
		{"Running", func(t *testing.T, l *lab, db *ledger.DB) { started(t, db) }, ledger.Due, "due new running", ledger.InRun, ""},
		{"RunningAndOverdue", func(t *testing.T, l *lab, db *ledger.DB) {
			started(t, db)
			l.sql(t, overdue)
		}, ledger.Overdue, "overdue due new running", ledger.InRun, ""},
		{"RunningAndUnobservable", func(t *testing.T, l *lab, db *ledger.DB) {
			started(t, db)
			l.sql(t, overdue)
			l.sql(t, unseen)
		}, ledger.Unobservable, "unobservable overdue due new running", ledger.InRun, ""},
		{"Verifying", func(t *testing.T, l *lab, db *ledger.DB) { captured(t, db) }, ledger.Due, "due new running", ledger.Verifying, ""},
		{"Expired", func(t *testing.T, l *lab, db *ledger.DB) {
			started(t, db)
			l.sql(t, "UPDATE heyaira_loop.work_item SET lease_until = now() - interval '1 second'")
		}, ledger.Due, "due new", ledger.Expired, ""},
		{"BackingOff", func(t *testing.T, l *lab, db *ledger.DB) {
			fail(t, db, started(t, db), lease.Transient, "reset by peer")
		}, ledger.Failing, "failing due new", ledger.BackingOff, "backoff"},
		{"TriedAgain", func(t *testing.T, l *lab, db *ledger.DB) {
			fail(t, db, started(t, db), lease.Transient, "reset by peer")
			l.sql(t, "UPDATE heyaira_loop.work_item SET run_at = now() - interval '1 second'")
			start(t, db, claimOne(t, db, backups, "app"))
		}, ledger.Failing, "failing due new running", ledger.InRun, ""},
		{"Blocked", func(t *testing.T, l *lab, db *ledger.DB) {
			fail(t, db, started(t, db), lease.Blocked, "403 from store r2")
		}, ledger.Failing, "failing due new", ledger.IsBlocked, "blocked_wait"},
		{"Failed", func(t *testing.T, l *lab, db *ledger.DB) {
			fail(t, db, started(t, db), lease.Permanent, "no such schema")
		}, ledger.Failing, "failing due new", "", ""},
		{"FailedAndProvenSince", func(t *testing.T, l *lab, db *ledger.DB) {
			fail(t, db, started(t, db), lease.Permanent, "no such schema")
			l.sql(t, "UPDATE heyaira_loop.scope SET streak = 0")
			cover(t, db, "b")
		}, ledger.Idle, "", "", ""},
		{"WaitingForMinInterval", func(t *testing.T, l *lab, db *ledger.DB) {
			coveredAgo(t, l, db)
			observe(t, db, saw("b"))
		}, ledger.Due, "due", ledger.Waiting, "min_interval"},
		{"WaitingForItsWindow", func(t *testing.T, l *lab, db *ledger.DB) {
			o := saw("b")
			o.NotBefore = time.Now().Add(time.Hour)
			observe(t, db, o)
		}, ledger.Due, "due new", ledger.Waiting, "window"},
		{"WaitingAfterBadEnds", func(t *testing.T, l *lab, db *ledger.DB) {
			badEnds(t, l, db)
			observe(t, db, saw("b"))
		}, ledger.Due, "due new", ledger.Waiting, "backoff"},
		{"QueuedBehindTheCap", func(t *testing.T, l *lab, db *ledger.DB) {
			l.sql(t, "UPDATE heyaira_loop.work_type SET max_running = 1")
			l.exec(t, "scope_add", backups, "other")
			observe(t, db, ledger.Observation{WorkType: backups, Scope: "other", Marker: "x"})
			claimOne(t, db, backups, "other")
			observe(t, db, saw("a"))
		}, ledger.Due, "due new", ledger.Queued, "max_running"},
		{"OccurrenceIsLate", func(t *testing.T, l *lab, db *ledger.DB) {
			covered(t, l, db)
			l.sql(t, "UPDATE heyaira_loop.scope SET rpo = '1 hour', next_run_at = now() - interval '2 hours'")
		}, ledger.Overdue, "overdue due", "", ""},
		{"Gated", func(t *testing.T, l *lab, db *ledger.DB) {
			covered(t, l, db)
			l.exec(t, "gate", backups, "app", "sample too small")
			l.exec(t, "pause_scope", backups, "app", nil)
		}, ledger.Gated, "gated paused", "", ""},
		{"Paused", func(t *testing.T, l *lab, db *ledger.DB) {
			covered(t, l, db)
			l.exec(t, "pause_type", backups, time.Hour)
		}, ledger.IsPaused, "paused", "", ""},
		{"PauseHidesNothing", func(t *testing.T, l *lab, db *ledger.DB) {
			observe(t, db, saw("a"))
			l.sql(t, overdue)
			l.exec(t, "pause_scope", backups, "app", nil)
		}, ledger.Overdue, "overdue due paused new", ledger.Queued, "pause"},
		{"PauseThatIsOver", func(t *testing.T, l *lab, db *ledger.DB) {
			covered(t, l, db)
			l.exec(t, "pause_scope", backups, "app", -time.Second)
		}, ledger.Idle, "", "", ""},
	}
	l, db := backupLab(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l.anew(t)
			if test.prepare != nil {
				test.prepare(t, l, db)
			}
			scopes := report(t, db).Scopes
			at := slices.IndexFunc(scopes, func(s ledger.ScopeStatus) bool { return s.Scope == "app" })
			got := scopes[at]
			if got.State != test.state || got.Activity != test.does || got.HeldBy != test.heldBy {
				t.Errorf("state %s, activity %q, held by %q", got.State, got.Activity, got.HeldBy)
			}
			if facts := facts(got); facts != test.facts {
				t.Errorf("facts: %s, want %s", facts, test.facts)
			}
		})
	}
}

func facts(s ledger.ScopeStatus) string {
	var names []string
	for _, fact := range []struct {
		name  string
		holds bool
	}{
		{"unobservable", s.Unobservable}, {"failing", s.Failing}, {"overdue", s.Overdue}, {"due", s.Due},
		{"gated", s.Gated}, {"paused", s.Paused}, {"new", s.New}, {"running", s.Running},
	} {
		if fact.holds {
			names = append(names, fact.name)
		}
	}
	return strings.Join(names, " ")
}

func covered(t *testing.T, l *lab, db *ledger.DB) {
	t.Helper()
	cover(t, db, "a")
	want(t, ledger.Covered, observe(t, db, saw("a")))
}

func started(t *testing.T, db *ledger.DB) lease.Item {
	t.Helper()
	observe(t, db, saw("a"))
	return start(t, db, claimOne(t, db, backups, "app"))
}

func captured(t *testing.T, db *ledger.DB) lease.Item {
	t.Helper()
	ticket, now, err := db.Ticket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return finish(t, db, started(t, db), lease.Result{Marker: "a", Ticket: ticket, TakenAt: now})
}

func TestStatusCarriesWhatAPersonAsks(t *testing.T) {
	t.Parallel()
	l, db := backupLab(t)
	before := report(t, db).Now
	covered(t, l, db)
	item := want(t, ledger.Created, observe(t, db, saw("b")))
	held := start(t, db, claimOne(t, db, backups, "app"))
	if _, err := db.Renew(t.Context(), []lease.Progress{{Holder: held.Holder, Bytes: 12, Stage: "dump"}}); err != nil {
		t.Fatal(err)
	}
	if err := db.Beat(t.Context(), "h1", "v1", nil, time.Second); err != nil {
		t.Fatal(err)
	}
	r := report(t, db)
	s := r.Scopes[0]
	if s.Item != item || s.Bytes != 12 || s.Stage != "dump" || s.Owner != held.Owner || s.Claims != 1 || s.Step != lease.Run ||
		s.StartedAt.Before(before) || !s.LeaseUntil.After(r.Now) || s.CoveredGeneration != lease.NewSerial(1, 1) ||
		s.CoveredAt.Before(before) || s.TakenAt.Before(before) || s.UncoveredSince.Before(before) || s.Generation != lease.NewSerial(1, 2) {
		t.Errorf("running: %+v", s)
	}
	if len(r.Hosts) != 1 || r.Hosts[0].Host != "h1" || r.Hosts[0].Took != time.Second || r.Hosts[0].TickedAt.Before(before) || r.Refused != nil {
		t.Errorf("report: %+v", r)
	}
	fail(t, db, held, lease.Blocked, "403 from store r2")
	s = report(t, db).Scopes[0]
	if s.LastError != "403 from store r2" || s.LastClass != lease.Blocked || !s.RunAt.After(r.Now.Add(10*time.Minute)) || s.Owner != "" {
		t.Errorf("blocked: %+v", s)
	}

	for query, wanted := range map[ledger.StatusQuery]int{
		{Scope: "app"}: 1, {Scope: "none"}: 0, {WorkType: backups}: 1, {WorkType: batches}: 0, {WorkType: backups, Scope: "app"}: 1,
	} {
		if got, err := db.Status(t.Context(), query); err != nil || len(got.Scopes) != wanted {
			t.Errorf("%+v: %d scopes, %v", query, len(got.Scopes), err)
		}
	}
	// Three beats are the measure where that is longer than ten minutes.
	l.sql(t, "UPDATE heyaira_loop.scope SET observed_at = now() - interval '29 minutes'")
	if got, err := db.Status(t.Context(), ledger.StatusQuery{Beat: 10 * time.Minute}); err != nil || got.Scopes[0].Unobservable {
		t.Errorf("with a beat of ten minutes: %+v, %v", got, err)
	}
}

func TestItemsAndEventsAreListed(t *testing.T) {
	t.Parallel()
	l, db := backupLab(t)
	first := cover(t, db, "a")
	second := want(t, ledger.Created, observe(t, db, saw("b")))
	items, err := db.Items(t.Context(), backups, "app", 10)
	if err != nil || len(items) != 2 || items[0].Item != second || items[1].Item != first {
		t.Fatalf("items: %+v, %v", items, err)
	}
	if i := items[1]; i.State != "done" || i.FinishedAt.IsZero() || i.Claims != 1 || i.Head != l.Row(t, first).Head || i.Step != lease.Verify {
		t.Errorf("done: %+v", i)
	}
	if some, err := db.Items(t.Context(), "", "", 1); err != nil || len(some) != 1 {
		t.Errorf("limited: %+v, %v", some, err)
	}
	events, err := db.Events(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, event := range events {
		kinds = append(kinds, event.Kind)
	}
	if got := strings.Join(kinds, " "); got != "created claimed ran done" || events[3].Digest != items[1].Head {
		t.Errorf("events: %s", got)
	}
}
