package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
)

func TestMemoryHoldsToTheProtocol(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(testing.TB) leasetest.Harness { return newMemory() })
}

func TestMemoryRefusesASecondItemOnItsWay(t *testing.T) {
	t.Parallel()
	m := lease.NewMemory(time.Now)
	m.Allow("w", lease.MemoryPolicy{Coalesces: true}, "s")
	if _, err := m.Put(lease.MemoryWork{WorkType: "w", Scope: "s", Marker: "1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Put(lease.MemoryWork{WorkType: "w", Scope: "s", Marker: "2"}); err == nil {
		t.Error("a second item of a scope that coalesces was queued")
	}
	if _, err := m.Put(lease.MemoryWork{WorkType: "w", Scope: "elsewhere", Marker: "1"}); err == nil {
		t.Error("work of an unknown scope was queued")
	}
}

func TestMemoryFailsLikeAStoreWhenItsCallerHasGone(t *testing.T) {
	t.Parallel()
	m := lease.NewMemory(time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Commit(ctx, "k", 1, json.RawMessage(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a statement on a context that has ended answers %v", err)
	}
}

// memory is the suite's harness over a Memory.
type memory struct{ m *lease.Memory }

func newMemory() memory { return memory{lease.NewMemory(time.Now)} }

func (h memory) Open(testing.TB) leasetest.Handle { return h.m }

func (h memory) Allow(_ testing.TB, workType string, p leasetest.Policy, scopes ...string) {
	h.m.Allow(workType, lease.MemoryPolicy(p), scopes...)
}

func (h memory) Put(t testing.TB, work leasetest.Work) int64 {
	t.Helper()
	item, err := h.m.Put(lease.MemoryWork(work))
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func (h memory) Ticket(testing.TB) lease.Serial { return h.m.Draw() }

func (h memory) MoveLease(_ testing.TB, item int64, by time.Duration) {
	h.m.Move(item, func(until, _ *time.Time) { *until = h.m.Clock().Add(by) })
}

func (h memory) MoveRun(_ testing.TB, item int64, by time.Duration) {
	h.m.Move(item, func(_, runAt *time.Time) { *runAt = h.m.Clock().Add(by) })
}

func (h memory) Now(testing.TB) time.Time { return h.m.Clock() }

func (h memory) Row(_ testing.TB, item int64) leasetest.Row {
	r := h.m.Look(item)
	return leasetest.Row{
		State: r.State, Step: r.Step, DedupeKey: r.DedupeKey, Generation: r.Generation, RunAt: r.RunAt,
		Fence: r.Fence, Owner: r.Owner, Until: r.Until, Started: r.Started, Bytes: r.Progress.Bytes, Stage: r.Progress.Stage,
		Result: r.Result, Claims: r.Charged, Failures: r.Failures, Crashes: r.Crashes,
		LastError: r.LastError, Evidence: r.Evidence, No: len(r.Receipts), Head: r.Head, Finished: r.FinishedAt,
	}
}

func (h memory) Events(_ testing.TB, item int64) []leasetest.Event {
	r := h.m.Look(item)
	var events []leasetest.Event
	for i, receipt := range r.Receipts {
		receipt.Previous = ""
		events = append(events, leasetest.Event{Receipt: receipt, Digest: r.Digests[i]})
	}
	return events
}

func (h memory) Scope(_ testing.TB, workType, scope string) leasetest.Scope {
	s := h.m.Head(workType, scope)
	return leasetest.Scope{
		Generation: s.Generation, Streak: s.Streak, Covered: s.Covered, Marker: s.Marker, Ticket: s.Ticket,
		TakenAt: s.TakenAt, Item: s.Item, Fence: s.Fence, CoverOf: s.CoverOf, Evidence: s.Evidence,
	}
}

func (h memory) Effect(_ testing.TB, key string) (leasetest.Effect, bool) {
	e, ok := h.m.Effect(key)
	return leasetest.Effect{
		State: e.State, Kind: e.Kind, Item: e.Item, Fence: e.Fence,
		Target: e.Target, Evidence: e.Evidence, Tries: e.Tries,
	}, ok
}

func TestMemoryKeepsOnlyJSON(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	bad := json.RawMessage(`{"half":`)
	if _, err := h.m.Intend(t.Context(), held, lease.Intent{Key: "k", Target: bad}); err == nil {
		t.Error("a target that is no JSON was kept")
	}
	if err := h.m.Commit(t.Context(), "k", held.Fence, bad); err == nil || errors.Is(err, lease.ErrLost) {
		t.Errorf("evidence that is no JSON answers %v", err)
	}
	if _, err := h.m.Finish(t.Context(), []lease.Finished{{Holder: held, Result: lease.Result{Data: bad}}}); err == nil {
		t.Error("a result that is no JSON was kept")
	}
	if _, err := h.m.Complete(t.Context(), []lease.Proof{{Holder: held}}); err == nil {
		t.Error("a proof without evidence was kept")
	}
}
