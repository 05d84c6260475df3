package leasetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// The work types of the suite: one that covers its scopes, one that does not.
const (
	covering = "covering"
	batch    = "batch"
)

// world is one store with what a property does to it again and again. a and b are two
// workers on two hosts.
type world struct {
	testing.TB
	h      Harness
	a, b   Handle
	scopes map[string][]string
	items  []int64
	marks  int
}

func newWorld(t testing.TB, h Harness) *world {
	t.Helper()
	return &world{TB: t, h: h, a: h.Open(t), b: h.Open(t), scopes: map[string][]string{}}
}

// lenient is a policy whose ceilings are out of the way.
func lenient() Policy {
	return Policy{
		Coalesces: true, TTL: time.Minute,
		MaxFailures: 100, MaxCrashes: 100, MaxClaims: 100,
		BackoffBase: time.Second, BackoffCap: time.Minute, BlockedWait: 15 * time.Minute,
	}
}

func (w *world) allow(workType string, p Policy, scopes ...string) {
	w.Helper()
	w.h.Allow(w, workType, p, scopes...)
	w.scopes[workType] = append(w.scopes[workType], scopes...)
}

// put queues one piece of work with a marker and a key that are new.
func (w *world) put(workType, scope string) int64 {
	w.Helper()
	w.marks++
	item := w.h.Put(w, Work{
		WorkType: workType, Scope: scope,
		Key: fmt.Sprint("key ", w.marks), Marker: fmt.Sprint("marker ", w.marks),
		Payload: json.RawMessage(`{"n":` + fmt.Sprint(w.marks) + `}`),
	})
	w.items = append(w.items, item)
	return item
}

// one is a world's usual beginning: a scope that covers, with one item.
func (w *world) one() int64 {
	w.Helper()
	if w.scopes[covering] == nil {
		w.allow(covering, lenient(), "s")
	}
	return w.put(covering, "s")
}

func (w *world) claim(by Handle, host string, limit int) []lease.Item {
	w.Helper()
	items, err := by.Claim(w.Context(), lease.Request{Scopes: w.scopes, Limit: limit, Owner: lease.NewOwner(host)})
	w.must(err)
	return items
}

// take claims the one item that is due.
func (w *world) take(by Handle) lease.Item {
	w.Helper()
	items := w.claim(by, "host", 1)
	if len(items) != 1 {
		w.Fatalf("claimed %d items, want 1", len(items))
	}
	return items[0]
}

// start begins a step as a new owner.
func (w *world) start(by Handle, step lease.Step, held lease.Holder) lease.Item {
	w.Helper()
	items, err := by.Start(w.Context(), lease.NewOwner("host"), step, []lease.Holder{held})
	w.must(err)
	if len(items) != 1 {
		w.Fatalf("started %d items, want 1", len(items))
	}
	return items[0]
}

// run claims the one item that is due and starts it.
func (w *world) run(by Handle) lease.Item {
	w.Helper()
	return w.start(by, lease.Run, w.take(by).Holder)
}

// capture is a result with a ticket that is drawn now.
func (w *world) capture(item lease.Item) lease.Result {
	w.Helper()
	return lease.Result{
		Data:    json.RawMessage(`{"bytes":42}`),
		Marker:  item.Marker,
		Ticket:  w.h.Ticket(w),
		TakenAt: w.h.Now(w).Truncate(time.Microsecond),
	}
}

// ran takes the one item that is due through run; its holder still holds it.
func (w *world) ran(by Handle) (lease.Item, lease.Result) {
	w.Helper()
	item := w.run(by)
	result := w.capture(item)
	w.finish(by, item.Holder, result)
	return item, result
}

func (w *world) finish(by Handle, held lease.Holder, result lease.Result) {
	w.Helper()
	kept, err := by.Finish(w.Context(), []lease.Finished{{Holder: held, Result: result}})
	w.must(err)
	if len(kept) != 1 {
		w.Fatalf("finished %d items, want 1", len(kept))
	}
}

// prove starts verify and completes it.
func (w *world) prove(by Handle, held lease.Holder) lease.Ended {
	w.Helper()
	item := w.start(by, lease.Verify, held)
	return w.complete(by, item.Holder)
}

func (w *world) complete(by Handle, held lease.Holder) lease.Ended {
	w.Helper()
	ended, err := by.Complete(w.Context(), []lease.Proof{{Holder: held, Evidence: json.RawMessage(`{"level":"hash"}`)}})
	w.must(err)
	return w.only(ended)
}

func (w *world) fail(by Handle, held lease.Holder, class lease.Class) lease.Ended {
	w.Helper()
	ended, err := by.Fail(w.Context(), []lease.Failure{{Holder: held, Class: class, Reason: "reason: " + string(class)}})
	w.must(err)
	return w.only(ended)
}

func (w *world) giveBack(by Handle, held lease.Holder, unfired ...string) lease.Ended {
	w.Helper()
	ended, err := by.GiveBack(w.Context(), []lease.Holder{held}, unfired)
	w.must(err)
	return w.only(ended)
}

func (w *world) only(ended []lease.Ended) lease.Ended {
	w.Helper()
	if len(ended) != 1 {
		w.Fatalf("ended %d items, want 1", len(ended))
	}
	return ended[0]
}

// expire ends an item's lease, as time would.
func (w *world) expire(item int64) {
	w.Helper()
	w.h.MoveLease(w, item, -time.Second)
}

func (w *world) reclaim(by Handle) []lease.Reclaimed {
	w.Helper()
	taken, err := by.Reclaim(w.Context(), 100)
	w.must(err)
	return taken
}

// lose takes an item back from whoever holds it, and makes it due again.
func (w *world) lose(item int64) lease.Reclaimed {
	w.Helper()
	w.expire(item)
	taken := w.reclaim(w.b)
	if len(taken) != 1 || taken[0].Item != item {
		w.Fatalf("reclaimed %+v, want item %d", taken, item)
	}
	if taken[0].Outcome == lease.GivenBack {
		w.due(item)
	}
	return taken[0]
}

func (w *world) due(item int64) {
	w.Helper()
	w.h.MoveRun(w, item, -time.Second)
}

func (w *world) row(item int64) Row {
	w.Helper()
	return w.h.Row(w, item)
}

// at once calls do as n workers at the same time, each with a handle of its own.
func (w *world) atOnce(n int, do func(worker int, by Handle) error) {
	w.Helper()
	handles := make([]Handle, n)
	for i := range handles {
		handles[i] = w.h.Open(w)
	}
	errs := make([]error, n)
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-gate
			errs[i] = do(i, handles[i])
		})
	}
	close(gate)
	all.Wait()
	for _, err := range errs {
		w.must(err)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// want compares; what says what was looked at.
func (w *world) want(what string, got, want any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantJSON compares two JSON texts by value: a store may keep their spelling or not.
func (w *world) wantJSON(what string, got, want json.RawMessage) {
	w.Helper()
	var a, b any
	if len(got) > 0 {
		w.must(json.Unmarshal(got, &a))
	}
	if len(want) > 0 {
		w.must(json.Unmarshal(want, &b))
	}
	w.want(what, a, b)
}
