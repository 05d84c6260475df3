package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

// fleet registers some scopes of work that coalesces.
func fleet(t *testing.T, l *lab, size int) []string {
	t.Helper()
	names := make([]string, size)
	for i := range names {
		names[i] = fmt.Sprintf("s%02d", i)
	}
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true, MaxFailures: 1000, MaxCrashes: 1000, MaxClaims: 100000}}, names...)
	return names
}

// openLoud is a way to the ledger that fails the test where a statement has to be sent
// twice: of a deadlock a tick would otherwise say nothing.
func (l *lab) openLoud(t *testing.T) *ledger.DB {
	t.Helper()
	db := ledger.Open(ledger.Options{
		Conninfo: l.conninfo, Environment: "test", Command: "test", Host: "h1", Program: "test",
		Log: zerolog.New(zerolog.NewTestWriter(failer{t})),
	})
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

type failer struct{ *testing.T }

// Log is what the logger calls.
func (f failer) Log(args ...any) { f.Error(args...) }

// However many hosts tick at once, and in whatever order they name their scopes, one
// change is one item, and nobody waits for another in a circle.
func TestTickersAtOnceMakeOneItemEach(t *testing.T) {
	t.Parallel()
	const tickers, rounds = 4, 15
	l := newLab(t)
	names := fleet(t, l, 20)
	var created atomic.Int64
	for round := range rounds {
		var ready, done sync.WaitGroup
		ready.Add(tickers)
		for range tickers {
			db := l.openLoud(t)
			order := slices.Clone(names)
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			done.Go(func() {
				ticket, _, err := db.Ticket(t.Context())
				if err != nil {
					t.Error(err)
				}
				observations := make([]ledger.Observation, len(order))
				for i, name := range order {
					observations[i] = ledger.Observation{WorkType: backups, Scope: name, Marker: fmt.Sprint(round)}
				}
				ready.Done()
				ready.Wait()
				answers, err := db.Ensure(t.Context(), ticket, observations)
				if err != nil {
					t.Error(err)
				}
				for _, answer := range answers {
					switch answer.Word {
					case ledger.Created:
						created.Add(1)
					case ledger.Advanced, ledger.Duplicate, ledger.Raced, ledger.Stale:
					default:
						t.Errorf("answered %q, %v", answer.Word, answer.Err)
					}
				}
			})
		}
		done.Wait()
		if got := created.Swap(0); got != int64(len(names)) {
			t.Errorf("%d items were created for %d scopes", got, len(names))
		}
		l.sql(t, "UPDATE heyaira_loop.work_item SET state = 'cancelled', finished_at = now() WHERE state = 'queued'")
	}
	sound(t, l.open(t))
}

// Ticks race with claims and completions: what is covered is what was captured, no
// change is lost, and no statement fails.
func TestTickersRaceWithWorkers(t *testing.T) {
	t.Parallel()
	const tickers, workers, rounds = 2, 2, 40
	l := newLab(t)
	names := fleet(t, l, 3)
	var world [3]atomic.Int64 // the marker of each scope
	tick := func(db *ledger.DB) {
		ticket, _, err := db.Ticket(t.Context())
		if err != nil {
			t.Error(err)
		}
		var observations []ledger.Observation
		for i, name := range names {
			observations = append(observations, ledger.Observation{WorkType: backups, Scope: name, Marker: fmt.Sprint(world[i].Load())})
		}
		answers, err := db.Ensure(t.Context(), ticket, observations)
		if err != nil {
			t.Error(err)
		}
		for _, answer := range answers {
			if answer.Err != nil {
				t.Error(answer.Err)
			}
		}
	}
	drain := func(db *ledger.DB) {
		for _, item := range claim(t, db, "h1", backups, 10, names...) {
			item = start(t, db, item)
			ticket, at, err := db.Ticket(t.Context())
			if err != nil {
				t.Error(err)
			}
			marker := fmt.Sprint(world[slices.Index(names, item.Scope)].Load())
			item = finish(t, db, item, lease.Result{Marker: marker, Ticket: ticket, TakenAt: at})
			if got := complete(t, db, item, `{}`); got != lease.Covered {
				t.Errorf("completed as %s", got)
			}
		}
	}
	var group sync.WaitGroup
	for range tickers {
		db := l.open(t)
		group.Go(func() {
			for range rounds {
				world[rand.N(3)].Add(1)
				tick(db)
			}
		})
	}
	for range workers {
		db := l.open(t)
		group.Go(func() {
			for range rounds {
				drain(db)
			}
		})
	}
	group.Wait()

	db := l.open(t)
	drain(db)
	tick(db)
	drain(db)
	for i, name := range names {
		h := head(t, db, backups, name)
		if wanted := fmt.Sprint(world[i].Load()); h.CoveredMarker != wanted || h.Active || h.Uncovered {
			t.Errorf("%s: covered %s of %s, active %v", name, h.CoveredMarker, wanted, h.Active)
		}
	}
	sound(t, db)
}
