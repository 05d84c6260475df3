package ledger_test

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

//go:embed testdata/*.sql
var levers embed.FS

// lab is a fresh ledger with a connection of its own for the levers of tests.
type lab struct {
	conninfo string
	conn     *pgx.Conn
}

var _ leasetest.Harness = (*lab)(nil)

func newLab(t testing.TB) *lab {
	t.Helper()
	conninfo := pgtest.Ledger(t)
	return &lab{conninfo: conninfo, conn: pgtest.Connect(t, conninfo)}
}

// open is a program's way to the ledger.
func (l *lab) open(t testing.TB) *ledger.DB {
	t.Helper()
	db := ledger.Open(ledger.Options{
		Conninfo: l.conninfo, Environment: "test", Command: "test", Host: "h1", Program: "test", Log: zerolog.Nop(),
	})
	t.Cleanup(func() {
		if err := db.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// row runs a lever that answers one row.
func (l *lab) row(t testing.TB, name string, args []any, into ...any) {
	t.Helper()
	if err := l.conn.QueryRow(t.Context(), lever(t, name), args...).Scan(into...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func (l *lab) exec(t testing.TB, name string, args ...any) {
	t.Helper()
	if _, err := l.conn.Exec(t.Context(), lever(t, name), args...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// waiting tells whether a statement in this ledger waits for a lock.
func (l *lab) waiting(t testing.TB) bool {
	t.Helper()
	var n int
	l.row(t, "waiting", nil, &n)
	return n > 0
}

func lever(t testing.TB, name string) string {
	t.Helper()
	sql, err := levers.ReadFile("testdata/" + name + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(sql)
}

// policy is leasetest's with what only the ledger has.
type policy struct {
	leasetest.Policy
	perMinute int
	goesFirst bool
}

func (l *lab) allow(t testing.TB, workType string, p policy, scopes ...string) {
	t.Helper()
	l.exec(t, "allow", workType, p.Coalesces, or(p.TTL, time.Minute),
		orNull(p.MaxRunning), orNull(p.MaxRunningPerHost), orNull(p.perMinute),
		or(p.MaxFailures, 5), or(p.MaxCrashes, 3), or(p.MaxClaims, 50),
		or(p.BackoffBase, 5*time.Second), or(p.BackoffCap, time.Hour), or(p.BlockedWait, 15*time.Minute), p.goesFirst)
	for _, scope := range scopes {
		l.exec(t, "scope_add", workType, scope)
	}
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func orNull(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// Open implements leasetest.Harness.
func (l *lab) Open(t testing.TB) leasetest.Handle { return l.open(t) }

// Allow implements leasetest.Harness.
func (l *lab) Allow(t testing.TB, workType string, p leasetest.Policy, scopes ...string) {
	t.Helper()
	l.allow(t, workType, policy{Policy: p}, scopes...)
}

// Put implements leasetest.Harness.
func (l *lab) Put(t testing.TB, work leasetest.Work) int64 {
	t.Helper()
	payload := work.Payload
	if payload == nil {
		payload = json.RawMessage(`{}`)
	}
	var key *string
	if work.Key != "" {
		key = &work.Key
	}
	var item int64
	l.row(t, "put", []any{work.WorkType, work.Scope, key, work.Marker, string(payload)}, &item)
	return item
}

// Ticket implements leasetest.Harness.
func (l *lab) Ticket(t testing.TB) lease.Serial {
	t.Helper()
	var ticket lease.Serial
	l.row(t, "ticket", nil, &ticket)
	return ticket
}

// MoveLease implements leasetest.Harness.
func (l *lab) MoveLease(t testing.TB, item int64, by time.Duration) {
	t.Helper()
	l.row(t, "move_lease", []any{item, by}, &item)
}

// MoveRun implements leasetest.Harness.
func (l *lab) MoveRun(t testing.TB, item int64, by time.Duration) {
	t.Helper()
	l.row(t, "move_run", []any{item, by}, &item)
}

// Now implements leasetest.Harness.
func (l *lab) Now(t testing.TB) time.Time {
	t.Helper()
	var now time.Time
	l.row(t, "now", nil, &now)
	return now
}

// Row implements leasetest.Harness.
func (l *lab) Row(t testing.TB, item int64) leasetest.Row {
	t.Helper()
	var r leasetest.Row
	var fence, bytes, ticket *int64
	var owner, stage, result, marker, reason, class, evidence *string
	var until, taken, finished *time.Time
	l.row(t, "row", []any{item}, &r.State, &r.Step, &r.DedupeKey, &r.Generation, &r.RunAt, &fence, &owner, &until, &r.Started,
		&bytes, &stage, &result, &marker, &ticket, &taken, &r.Claims, &r.Failures, &r.Crashes,
		&reason, &class, &evidence, &r.No, &r.Head, &finished)
	r.Fence, r.Bytes, r.Result.Ticket = lease.Serial(value(fence)), value(bytes), lease.Serial(value(ticket))
	r.Owner, r.Stage, r.Result.Marker, r.LastError = value(owner), value(stage), value(marker), value(reason)
	r.Until, r.Result.TakenAt, r.Finished = value(until), value(taken), value(finished)
	r.Result.Data, r.Evidence = raw(result), raw(evidence)
	return r
}

// Events implements leasetest.Harness.
func (l *lab) Events(t testing.TB, item int64) []leasetest.Event {
	t.Helper()
	rows, err := l.conn.Query(t.Context(), lever(t, "events"), item)
	if err != nil {
		t.Fatal(err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (leasetest.Event, error) {
		e := leasetest.Event{Receipt: lease.Receipt{Item: item}}
		var owner, detail *string
		var fence *int64
		err := row.Scan(&e.No, &e.At, &e.Kind, &owner, &fence, &detail, &e.Digest)
		e.Owner, e.Fence, e.Detail = value(owner), lease.Serial(value(fence)), raw(detail)
		return e, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// Scope implements leasetest.Harness.
func (l *lab) Scope(t testing.TB, workType, scope string) leasetest.Scope {
	t.Helper()
	s, _ := l.scope(t, workType, scope)
	return s
}

// scope also tells since when the scope is uncovered.
func (l *lab) scope(t testing.TB, workType, scope string) (leasetest.Scope, time.Time) {
	t.Helper()
	var s leasetest.Scope
	var since, taken *time.Time
	var marker, evidence *string
	var ticket, item, fence, generation *int64
	l.row(t, "scope", []any{workType, scope}, &s.Generation, &s.Streak, &since,
		&marker, &ticket, &taken, &item, &fence, &generation, &evidence)
	s.Covered, s.Marker, s.Ticket, s.TakenAt = marker != nil, value(marker), lease.Serial(value(ticket)), value(taken)
	s.Item, s.Fence, s.CoverOf, s.Evidence = value(item), lease.Serial(value(fence)), lease.Serial(value(generation)), raw(evidence)
	return s, value(since)
}

// Effect implements leasetest.Harness.
func (l *lab) Effect(t testing.TB, key string) (leasetest.Effect, bool) {
	t.Helper()
	var e leasetest.Effect
	var target, evidence *string
	err := l.conn.QueryRow(t.Context(), lever(t, "effect"), key).Scan(&e.State, &e.Kind, &e.Item, &e.Fence, &target, &evidence, &e.Tries)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false
	}
	if err != nil {
		t.Fatal(err)
	}
	e.Target, e.Evidence = raw(target), raw(evidence)
	return e, true
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func raw(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}
