package loop

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// fake is a consumer whose world is a marker for each scope.
type fake struct {
	policy Policy
	scopes []ledger.Scope
	look   func(ctx context.Context, head ledger.Head) ([]ledger.Observation, error) // nil: the marker
	run    func(ctx context.Context, w *Work) error                                  // before the result; nil: nothing
	verify func(ctx context.Context, w *Work) error                                  // before the evidence; nil: nothing

	mu      sync.Mutex
	markers map[string]string
	ran     []int64 // items
	proved  []int64
}

func newFake(workType string, scopes ...string) *fake {
	f := &fake{
		policy: Policy{Policy: ledger.Policy{
			WorkType: workType, Coalesces: true, LeaseTTL: time.Minute,
			MaxFailures: 5, MaxCrashes: 3, MaxClaims: 50,
			BackoffBase: time.Second, BackoffCap: time.Minute, BlockedWait: time.Minute,
		}},
		markers: map[string]string{},
	}
	for _, scope := range scopes {
		f.scopes = append(f.scopes, ledger.Scope{WorkType: workType, Key: scope, RPO: time.Hour})
		f.markers[scope] = "m1"
	}
	return f
}

func (f *fake) change(scope, marker string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.markers[scope] = marker
}

func (f *fake) marker(scope string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.markers[scope]
}

// times tells how often an item was run and proven.
func (f *fake) times(item int64) (ran, proved int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.ran {
		if one == item {
			ran++
		}
	}
	for _, one := range f.proved {
		if one == item {
			proved++
		}
	}
	return ran, proved
}

func (f *fake) WorkType() string       { return f.policy.WorkType }
func (f *fake) Policy() Policy         { return f.policy }
func (f *fake) Scopes() []ledger.Scope { return f.scopes }

func (f *fake) Observe(ctx context.Context, head ledger.Head) ([]ledger.Observation, error) {
	if f.look != nil {
		return f.look(ctx, head)
	}
	return []ledger.Observation{{Marker: f.marker(head.Scope)}}, nil
}

func (f *fake) Run(ctx context.Context, w *Work) (lease.Result, error) {
	f.mu.Lock()
	f.ran = append(f.ran, w.Item.Item)
	f.mu.Unlock()
	ticket, now, err := w.Ticket(ctx)
	if err != nil {
		return lease.Result{}, err
	}
	result := lease.Result{Data: json.RawMessage(`{"size":1}`), Marker: f.marker(w.Scope), Ticket: ticket, TakenAt: now}
	if f.run != nil {
		err = f.run(ctx, w)
	}
	return result, err
}

func (f *fake) Verify(ctx context.Context, w *Work, result lease.Result) (Evidence, error) {
	f.mu.Lock()
	f.proved = append(f.proved, w.Item.Item)
	f.mu.Unlock()
	if f.verify != nil {
		if err := f.verify(ctx, w); err != nil {
			return nil, err
		}
	}
	return Evidence(`{"level":"hash"}`), nil
}

// remembering is a fake whose outside world remembers a cover.
type remembering struct {
	*fake
	recall func(ctx context.Context, scope string, who ledger.Identity) (*ledger.Cover, error)
}

func (r *remembering) Recall(ctx context.Context, scope string, who ledger.Identity) (*ledger.Cover, error) {
	return r.recall(ctx, scope, who)
}
