package lease

import (
	"context"
	"encoding/json"
	"time"
)

// Store keeps items and decides who holds them. Every method that takes holders
// is one conditional statement on item, fence, owner and an unexpired lease, for
// all of them at once; an item that is missing from the answer is lost
// (ErrLost), and an expired lease is lost even before it is reclaimed. The
// store's clock decides; callers send durations only. A non-nil error means that
// nothing is known of any of the items.
type Store interface {
	// Claim leases eligible work under new fences; see Request.
	Claim(ctx context.Context, request Request) ([]Item, error)
	// Start begins a step once: the owner changes hands from the document's to this
	// invocation's, so a document that is read twice starts work once. From here on a
	// crash is charged to the item. A second Start by the same owner answers again.
	Start(ctx context.Context, owner string, step Step, held []Holder) ([]Item, error)
	// Renew extends leases to now + TTL and notes how far the work has come.
	Renew(ctx context.Context, held []Progress) ([]Kept, error)
	// Finish ends run: the result is kept and the item goes on to verify under the
	// same lease.
	Finish(ctx context.Context, ran []Finished) ([]Kept, error)
	// Complete ends verify: item done, scope covered, in one statement.
	Complete(ctx context.Context, proofs []Proof) ([]Ended, error)
	// Fail ends an attempt badly, by class.
	Fail(ctx context.Context, failures []Failure) ([]Ended, error)
	// GiveBack hands interrupted work to the next beat. unfired are the effect keys
	// this process claimed and knows it did not fire.
	GiveBack(ctx context.Context, held []Holder, unfired []string) ([]Ended, error)
	// Reclaim puts expired leases back into the queue, at most limit of them.
	Reclaim(ctx context.Context, limit int) ([]Reclaimed, error)
}

// Request asks for work. Only scopes in Scopes are taken, by work type: the
// configuration of this host. Limit is for each type.
type Request struct {
	Scopes map[string][]string
	Limit  int
	Owner  string
}

// Progress is a holder with what its work has done so far.
type Progress struct {
	Holder
	Bytes int64
	Stage string
}

// Kept is a lease that goes on. TTL is how long it was extended for: the policy in
// force now, which may be shorter than when the work was claimed.
type Kept struct {
	Item  int64
	Until time.Time
	TTL   time.Duration
}

// Finished is a holder with what its run found.
type Finished struct {
	Holder
	Result Result
}

// Proof is a holder with the evidence of its verify.
type Proof struct {
	Holder
	Evidence json.RawMessage
}

// Failure is a holder with why its attempt ended. Reason holds no secret.
type Failure struct {
	Holder
	Class  Class
	Reason string
}

// Ended is how an attempt ended, and when the item is tried again (zero: never by itself).
type Ended struct {
	Item    int64
	Outcome Outcome
	Again   time.Time
}

// Reclaimed is an expired lease that was taken back.
type Reclaimed struct {
	Item     int64
	WorkType string
	Scope    string
	Outcome  Outcome // GivenBack (queued again) or Quarantined
	Crashes  int
}

// Effects is the durable list of outward actions, keyed by business identity.
type Effects interface {
	// Intend checks the fence and claims the right to fire one effect, at once; ErrLost.
	// The same owner's open intent is claimed again (the reply was lost, it has not
	// fired); another owner's is held, even under the same fence.
	Intend(ctx context.Context, held Holder, intent Intent) (Claim, error)
	// Commit keeps the evidence of an effect that fired, lease or no lease, and
	// whatever a reconciler made of it meanwhile. Committed before, it keeps the first
	// evidence; ErrLost when the key is not this fence's any more.
	Commit(ctx context.Context, key string, fence Serial, evidence json.RawMessage) error
	// Abandon says that the holder did not fire and that nothing of it can arrive late.
	Abandon(ctx context.Context, key string, fence Serial) error
	// Settle records what the outside world said of a dead intent: Committed with
	// evidence, Abandoned, or Unknown. It answers false when the intent is not dead.
	Settle(ctx context.Context, key string, fence Serial, verdict EffectState, evidence json.RawMessage) (bool, error)
}

// Intent names one outward action. Key is a business identity, never a time or a
// random id; Target says where a reconciler has to look.
type Intent struct {
	Key    string
	Kind   string
	Target json.RawMessage
}

// EffectState is where an intent stands.
type EffectState string

// The states of an intent, and two words that only Intend answers: Claimed (fire
// it) and Held (another fence's intent, not settled).
const (
	Committed EffectState = "committed"
	Abandoned EffectState = "abandoned"
	Unknown   EffectState = "unknown"
	Claimed   EffectState = "claimed"
	Held      EffectState = "held"
)

// Claim is Intend's answer. Unless State is Claimed, Fence, Target and Evidence
// are those of the intent that stands in the way.
type Claim struct {
	State    EffectState
	Item     int64
	Fence    Serial
	Target   json.RawMessage
	Evidence json.RawMessage
}
