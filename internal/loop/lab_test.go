package loop

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// lab is a ledger of its own with this host's consumers.
type lab struct {
	t         testing.TB
	conninfo  string
	consumers []Consumer
}

func newLab(t testing.TB, consumers ...Consumer) *lab {
	t.Helper()
	return &lab{t, pgtest.Ledger(t), consumers}
}

// open is what a step of its own process would open.
func (l *lab) open() *ledger.DB {
	return ledger.Open(ledger.Options{Conninfo: l.conninfo, Environment: "test", Command: "test", Host: "h1", Program: "test"})
}

// with gives act a ledger that is closed afterwards.
func (l *lab) with(act func(ctx context.Context, db *ledger.DB)) {
	l.t.Helper()
	db := l.open()
	defer db.Close(context.Background())
	act(context.Background(), db)
}

func (l *lab) tick(o TickOptions) TickReport {
	l.t.Helper()
	o.Host, o.Program = "h1", "test"
	var report TickReport
	l.with(func(ctx context.Context, db *ledger.DB) {
		l.t.Helper()
		var err error
		if report, err = Tick(ctx, db, l.consumers, o); err != nil {
			l.t.Fatal(err)
		}
	})
	return report
}

// claim answers the stream that claim prints.
func (l *lab) claim(limit int) string {
	l.t.Helper()
	return l.claimWith(ClaimOptions{Limit: limit})
}

func (l *lab) claimScope(scope string) string {
	l.t.Helper()
	return l.claimWith(ClaimOptions{Scope: scope})
}

func (l *lab) claimWith(o ClaimOptions) string {
	l.t.Helper()
	o.Host = "h1"
	var out strings.Builder
	l.with(func(ctx context.Context, db *ledger.DB) {
		l.t.Helper()
		items, err := Claim(ctx, db, l.consumers, o)
		if err != nil {
			l.t.Fatal(err)
		}
		if err := Hand(ctx, db, &out, items, true); err != nil {
			l.t.Fatal(err)
		}
	})
	return out.String()
}

// due makes one item for each scope and claims all of them.
func (l *lab) due() string {
	l.t.Helper()
	l.tick(TickOptions{})
	return l.claim(1000)
}

// stepped is what a step did.
type stepped struct {
	Summary
	out  string
	ends []End
	err  error
}

// outcomes are those of the items, by scope.
func (s stepped) outcomes() map[string]lease.Outcome {
	all := map[string]lease.Outcome{}
	for _, end := range s.ends {
		all[end.Scope] = end.Outcome
	}
	return all
}

func (l *lab) run(ctx context.Context, in string) stepped {
	var out bytes.Buffer
	s := l.runTo(ctx, strings.NewReader(in), &out, 1)
	s.out = out.String()
	return s
}

func (l *lab) runTo(ctx context.Context, in io.Reader, out io.Writer, parallel int) stepped {
	var s stepped
	s.Summary, s.err = Run(ctx, l.open, l.consumers, []Input{{"stdin", in}}, out, StepOptions{
		Host: "h1", Parallel: parallel, Ended: func(e End) { s.ends = append(s.ends, e) },
	})
	return s
}

func (l *lab) verify(ctx context.Context, in string) stepped {
	var s stepped
	s.Summary, s.err = Verify(ctx, l.open, l.consumers, []Input{{"stdin", strings.NewReader(in)}}, StepOptions{
		Host: "h1", Ended: func(e End) { s.ends = append(s.ends, e) },
	})
	return s
}

// row is what a test looks at of an item.
type row struct {
	State, Phase, Owner, Error            string
	Claims, Failures, Crashes             int
	Started                               bool
	LeaseLeft, RunIn                      time.Duration
	Result                                string
	Events                                string // kinds, joined by spaces
	Marker, Evidence, Covered, ScopeError string
}

// item is the newest item of a scope.
func (l *lab) item(scope string) row {
	l.t.Helper()
	conn := pgtest.Connect(l.t, l.conninfo)
	rows, err := conn.Query(context.Background(), `
		SELECT w.state, w.phase, coalesce(w.owner, '') AS owner, coalesce(w.last_error, '') AS error,
			w.claims - w.claims_base AS claims, w.failures, w.crashes, w.started_at IS NOT NULL AS started,
			coalesce(w.lease_until - clock_timestamp(), '0') AS lease_left, w.run_at - clock_timestamp() AS run_in,
			coalesce(w.result::text, '') AS result,
			(SELECT string_agg(e.kind, ' ' ORDER BY e.event_no) FROM heyaira_loop.work_event e WHERE e.item_id = w.id) AS events,
			w.observed_marker AS marker, coalesce(w.evidence::text, '') AS evidence, coalesce(c.marker, '') AS covered,
			coalesce(s.observe_error, '') AS scope_error
		FROM heyaira_loop.work_item w
		JOIN heyaira_loop.scope s USING (work_type, scope_key)
		LEFT JOIN heyaira_loop.coverage c USING (work_type, scope_key)
		WHERE w.scope_key = $1
		ORDER BY w.id DESC
		LIMIT 1`, scope)
	if err != nil {
		l.t.Fatal(err)
	}
	one, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[row])
	if err != nil {
		l.t.Fatalf("item of %s: %v", scope, err)
	}
	return one
}

// exec moves rows' times and the like.
func (l *lab) exec(sql string, args ...any) {
	l.t.Helper()
	pgtest.Exec(l.t, l.conninfo, sql, args...)
}

// expire ends every lease.
func (l *lab) expire() {
	l.t.Helper()
	l.exec(`UPDATE heyaira_loop.work_item SET lease_until = clock_timestamp() - interval '1 second' WHERE state = 'leased'`)
}

// count asks how many rows a query has.
func (l *lab) count(sql string, args ...any) int {
	l.t.Helper()
	var n int
	if err := pgtest.Connect(l.t, l.conninfo).QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		l.t.Fatal(err)
	}
	return n
}

// changed answers a stream with some of its text replaced.
func changed(t testing.TB, stream, old, new string) string {
	t.Helper()
	if !strings.Contains(stream, old) {
		t.Fatalf("%q is not in %s", old, stream)
	}
	return strings.Replace(stream, old, new, 1)
}
