package backup

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// steps runs the steps of the loop as the commands do.
type steps struct {
	*bench
	conninfo string // of the ledger
	ends     []lease.Outcome
	said     error // of the last end
}

func newSteps(t *testing.T) *steps {
	t.Helper()
	b := newBench(t)
	// Commits of other tests would be changes: a server of its own.
	b.database = pgtest.NewServer(t).Database(t)
	b.config.Service = service(t, b.database)
	b.config.MinInterval, b.config.PgBin = 0, "" // it has to be found
	b.consumer.options.Backups[benchScope] = b.config
	b.consumer.options.Types.MaxRunningPerHost = 1
	return &steps{bench: b, conninfo: b.levers.Config().ConnString()}
}

func (s *steps) open() *ledger.DB {
	return ledger.Open(ledger.Options{Conninfo: s.conninfo, Environment: "test", Command: "test", Host: "h1", Program: "test", Log: zerolog.Nop()})
}

func (s *steps) consumers() []loop.Consumer { return []loop.Consumer{s.consumer} }

// tick answers the words that the tick got.
func (s *steps) tick(t *testing.T) []ledger.Word {
	t.Helper()
	report, err := loop.Tick(t.Context(), s.ledger, s.consumers(), loop.TickOptions{Host: "h1", Program: "test"})
	if err != nil || report.Status() != 0 {
		t.Fatalf("tick: %+v, %v", report, err)
	}
	var words []ledger.Word
	for _, scope := range report.Scopes {
		for _, answer := range scope.Answers {
			words = append(words, answer.Word)
		}
	}
	return words
}

// pipe is claim | run | verify; it answers the last status.
func (s *steps) pipe(t *testing.T) int {
	t.Helper()
	ctx := t.Context()
	var claimed, ran bytes.Buffer
	items, err := loop.Claim(ctx, s.ledger, s.consumers(), loop.ClaimOptions{Host: "h1"})
	if err == nil {
		err = loop.Hand(ctx, s.ledger, &claimed, items, true)
	}
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	o := loop.StepOptions{Host: "h1", Ended: func(end loop.End) {
		s.ends, s.said = append(s.ends, end.Outcome), end.Err
	}}
	if _, err := loop.Run(ctx, s.open, s.consumers(), []loop.Input{{Name: "claim", Reader: &claimed}}, &ran, o); err != nil {
		t.Fatalf("run: %v", err)
	}
	summary, err := loop.Verify(ctx, s.open, s.consumers(), []loop.Input{{Name: "run", Reader: &ran}}, o)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return summary.Status
}

func TestOneChangeIsOneBackupThroughTheWholeLoop(t *testing.T) {
	t.Parallel()
	s := newSteps(t)
	s.small(t)
	if words := s.tick(t); !slices.Equal(words, []ledger.Word{ledger.Created}) {
		t.Fatalf("first tick: %v", words)
	}
	if status := s.pipe(t); status != 0 || !slices.Equal(s.ends, []lease.Outcome{lease.Ran, lease.Covered}) {
		t.Fatalf("pipe: status %d, %v", status, s.ends)
	}
	// The plan is covered with the store's id, which the first tick did not know.
	if words := s.tick(t); slices.Contains(words, ledger.Created) {
		t.Errorf("tick without a change: %v", words)
	}
	if status := s.pipe(t); status != 0 || len(s.ends) != 2 {
		t.Errorf("pipe without work: status %d, %v", status, s.ends)
	}
	pgtest.Exec(t, s.database, "INSERT INTO kept VALUES (11)")
	if words := s.tick(t); !slices.Equal(words, []ledger.Word{ledger.Created}) {
		t.Fatalf("tick after a change: %v", words)
	}
	if status := s.pipe(t); status != 0 || len(s.ends) != 4 {
		t.Fatalf("pipe: status %d, %v", status, s.ends)
	}
	list, err := List(context.Background(), s.store, benchScope)
	if err != nil || len(list) != 2 || list[0].State != Verified || list[1].State != Verified {
		t.Errorf("store: %+v, %v", list, err)
	}
	to := pgtest.Database(t)
	if _, err := s.restore(t, RestoreOptions{To: to}); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, to), contents(t, s.database); got != want {
		t.Errorf("contents differ:\n%s", firstDifference(got, want))
	}
}

func TestUnmountedStoreBlocksAndAnotherOneIsRefused(t *testing.T) {
	t.Parallel()
	s := newSteps(t)
	s.small(t)
	s.tick(t)
	if status := s.pipe(t); status != 0 {
		t.Fatalf("pipe: status %d", status)
	}
	pgtest.Exec(t, s.database, "INSERT INTO kept VALUES (11)")
	s.tick(t)
	s.elsewhere(t)
	if status := s.pipe(t); status == loop.StatusDone || !errors.Is(s.said, ledger.ErrUnreachable) {
		t.Errorf("unmounted: status %d, %v, want unreachable", status, s.said)
	}
	s.lever(t, dueSQL)
	if _, err := nameStore(t.Context(), s.store); err != nil {
		t.Fatal(err)
	}
	if status := s.pipe(t); status != loop.StatusRefused || !errors.Is(s.said, ledger.ErrRefused) {
		t.Errorf("another store: status %d, %v, want refused", status, s.said)
	}
	if want := []lease.Outcome{lease.Ran, lease.Covered, lease.BlockedWait, lease.BlockedWait}; !slices.Equal(s.ends, want) {
		t.Errorf("outcomes %v, want %v", s.ends, want)
	}
}
