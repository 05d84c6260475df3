package ledger_test

import (
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

// sql moves rows where a test needs them.
func (l *lab) sql(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := l.conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ask reads one value.
func ask[T any](t testing.TB, l *lab, sql string, args ...any) T {
	t.Helper()
	var got T
	if err := l.conn.QueryRow(t.Context(), sql, args...).Scan(&got); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

// head asks for one scope, which draws a ticket.
func head(t testing.TB, db *ledger.DB, workType, scope string) ledger.Head {
	t.Helper()
	survey, err := db.Heads(t.Context(), []ledger.Pair{{WorkType: workType, Scope: scope}})
	if err != nil {
		t.Fatal(err)
	}
	return survey.Heads[0]
}

// observe is a whole tick: a ticket, then one observation of each.
func observe(t testing.TB, db *ledger.DB, observations ...ledger.Observation) []ledger.Answer {
	t.Helper()
	ticket, _, err := db.Ticket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ensure(t, db, ticket, observations...)
}

// ensure is the end of a tick that drew its ticket before.
func ensure(t testing.TB, db *ledger.DB, ticket lease.Serial, observations ...ledger.Observation) []ledger.Answer {
	t.Helper()
	answers, err := db.Ensure(t.Context(), ticket, observations)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

func saw(marker string) ledger.Observation {
	return ledger.Observation{WorkType: backups, Scope: "app", Marker: marker}
}

// want fails unless the one observation was answered with word; it answers the item.
func want(t testing.TB, word ledger.Word, answers []ledger.Answer) int64 {
	t.Helper()
	if len(answers) != 1 || answers[0].Word != word || answers[0].Err != nil {
		t.Fatalf("answered %+v, want %s", answers, word)
	}
	return answers[0].Item
}

// cover brings a new item for marker all the way.
func cover(t testing.TB, db *ledger.DB, marker string) int64 {
	t.Helper()
	item := want(t, ledger.Created, observe(t, db, saw(marker)))
	work(t, db, marker)
	return item
}

// work runs and proves the scope's item; what it captures is marker.
func work(t testing.TB, db *ledger.DB, marker string) {
	t.Helper()
	item := start(t, db, claimOne(t, db, backups, "app"))
	ticket, now, err := db.Ticket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	item = finish(t, db, item, lease.Result{Marker: marker, Ticket: ticket, TakenAt: now})
	if got := complete(t, db, item, `{}`); got != lease.Covered {
		t.Fatalf("completed as %s", got)
	}
}

// backupLab is a ledger with one scope of work that coalesces.
func backupLab(t testing.TB) (*lab, *ledger.DB) {
	t.Helper()
	l := newLab(t)
	l.backups(t)
	return l, l.open(t)
}

func (l *lab) backups(t testing.TB) {
	t.Helper()
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true, BackoffCap: time.Hour}}, "app")
}

// anew makes of a used ledger one that backupLab has just made.
func (l *lab) anew(t testing.TB) {
	t.Helper()
	l.exec(t, "reset")
	l.backups(t)
}
