package loop

import (
	"context"
	"encoding/json"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Consumer is one kind of work that rides on the loop. Its errors carry their class
// (package lease); it never touches an item's state itself.
type Consumer interface {
	// WorkType names the work.
	WorkType() string
	// Policy is what the work type allows.
	Policy() Policy
	// Scopes are the things of this host's configuration.
	Scopes() []ledger.Scope
	// Observe looks at one scope. Cheap; it changes nothing outside its own tables. It
	// answers with the covered marker where nothing changed.
	Observe(ctx context.Context, head ledger.Head) ([]ledger.Observation, error)
	// Run does the work under a lease; ctx ends with cause lease.ErrLost when the lease
	// can no longer be trusted.
	Run(ctx context.Context, work *Work) (lease.Result, error)
	// Verify proves a result, independently of Run; a nil error means proven.
	Verify(ctx context.Context, work *Work, result lease.Result) (Evidence, error)
}

// Recaller is a consumer whose outside world remembers what is covered. The tick
// that registers a scope asks it, before it believes that nothing is.
type Recaller interface {
	// Recall answers the newest verified cover of a scope, nil where there is none.
	Recall(ctx context.Context, scope string, who ledger.Identity) (*ledger.Cover, error)
}

// Policy is a work type's policy, in the ledger and in the process.
type Policy struct {
	ledger.Policy
	Limits func(scope string) (timeout, stall time.Duration) // of run and of verify; 0: none
}

// Evidence is what a verify proved, kept with the item and its cover; secret-free.
type Evidence json.RawMessage
