package ledger_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

const (
	backups = "backup" // coalesces
	batches = "batch"  // does not
)

// claim leases up to limit items of one type under a new owner of host.
func claim(t testing.TB, db *ledger.DB, host, workType string, limit int, scopes ...string) []lease.Item {
	t.Helper()
	items, err := db.Claim(t.Context(), lease.Request{
		Scopes: map[string][]string{workType: scopes}, Limit: limit, Owner: lease.NewOwner(host),
	})
	if err != nil {
		t.Error(err) // not Fatal: claimers race in goroutines
	}
	return items
}

func claimOne(t testing.TB, db *ledger.DB, workType, scope string) lease.Item {
	t.Helper()
	items := claim(t, db, "h1", workType, 1, scope)
	if len(items) != 1 {
		t.Fatalf("claimed %d items of %s/%s, want 1", len(items), workType, scope)
	}
	return items[0]
}

// start begins the step that an item is at, as a new process.
func start(t testing.TB, db *ledger.DB, item lease.Item) lease.Item {
	t.Helper()
	items, err := db.Start(t.Context(), lease.NewOwner("h1"), item.Step, []lease.Holder{item.Holder})
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 1 {
		t.Fatalf("start of item %d: lost", item.Item)
	}
	return items[0]
}

// finish ends run and begins verify, as a new process.
func finish(t testing.TB, db *ledger.DB, item lease.Item, result lease.Result) lease.Item {
	t.Helper()
	kept, err := db.Finish(t.Context(), []lease.Finished{{Holder: item.Holder, Result: result}})
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 {
		t.Fatalf("finish of item %d: lost", item.Item)
	}
	item.Step = lease.Verify
	return start(t, db, item)
}

func complete(t testing.TB, db *ledger.DB, item lease.Item, evidence string) lease.Outcome {
	t.Helper()
	return outcome(t)(db.Complete(t.Context(), []lease.Proof{{Holder: item.Holder, Evidence: json.RawMessage(evidence)}})).Outcome
}

func fail(t testing.TB, db *ledger.DB, item lease.Item, class lease.Class, reason string) lease.Ended {
	t.Helper()
	return outcome(t)(db.Fail(t.Context(), []lease.Failure{{Holder: item.Holder, Class: class, Reason: reason}}))
}

func giveBack(t testing.TB, db *ledger.DB, item lease.Item, unfired ...string) lease.Ended {
	t.Helper()
	return outcome(t)(db.GiveBack(t.Context(), []lease.Holder{item.Holder}, unfired))
}

// outcome is the one answer of a statement; Lost where it is missing.
func outcome(t testing.TB) func(ended []lease.Ended, err error) lease.Ended {
	return func(ended []lease.Ended, err error) lease.Ended {
		t.Helper()
		switch {
		case err != nil:
			t.Error(err)
		case len(ended) > 1:
			t.Errorf("got %d answers, want 1", len(ended))
		case len(ended) == 1:
			return ended[0]
		}
		return lease.Ended{Outcome: lease.Lost}
	}
}

func reclaim(t testing.TB, db *ledger.DB) []lease.Reclaimed {
	t.Helper()
	reclaimed, err := db.Reclaim(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return reclaimed
}

// captured is a result of work that covers, with a fresh ticket.
func (l *lab) captured(t testing.TB, marker string) lease.Result {
	t.Helper()
	return lease.Result{
		Data: json.RawMessage(`{"object":"main"}`), Marker: marker, Ticket: l.Ticket(t),
		TakenAt: l.Now(t).UTC().Truncate(time.Microsecond),
	}
}

// backup is a ledger with one scope that coalesces and one item on its way.
func backup(t testing.TB, p policy) (*lab, *ledger.DB, int64) {
	t.Helper()
	l := newLab(t)
	p.Coalesces = true
	l.allow(t, backups, p, "app")
	return l, l.open(t), l.put(t, backups, "app", "m1")
}

// put queues work that is keyed by its marker, or by key where the type does not
// coalesce.
func (l *lab) put(t testing.TB, workType, scope, key string) int64 {
	t.Helper()
	return l.Put(t, leasetest.Work{WorkType: workType, Scope: scope, Key: key, Marker: key})
}

// due makes queued work eligible now.
func (l *lab) due(t testing.TB, item int64) {
	t.Helper()
	l.MoveRun(t, item, -time.Second)
}

func kinds(events []leasetest.Event) []string {
	kinds := make([]string, 0, len(events))
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func wantKinds(t testing.TB, l *lab, item int64, want ...string) {
	t.Helper()
	if got := kinds(l.Events(t, item)); !slices.Equal(got, want) {
		t.Errorf("receipts of item %d: got %v, want %v", item, got, want)
	}
}

func sound(t testing.TB, db *ledger.DB) {
	t.Helper()
	faults, err := db.CheckReceipts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) > 0 {
		t.Errorf("chains do not hold: %v", faults)
	}
}
