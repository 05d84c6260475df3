package leasetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// Handle is one worker's way to the store.
type Handle interface {
	lease.Store
	lease.Effects
}

// Harness is a fresh, empty store with the levers that the suite needs beside the
// protocol. A lever that cannot do its work ends the test. Times are moved in rows,
// never on a clock.
type Harness interface {
	// Open gives a handle of its own (for a database: its own connection), closed with
	// the test.
	Open(t testing.TB) Handle
	// Allow puts the policy of a work type in force, newly or again, and registers scopes.
	Allow(t testing.TB, workType string, policy Policy, scopes ...string)
	// Put queues a new piece of work and answers its id. The scope is registered; if it
	// coalesces, nothing of it is on its way.
	Put(t testing.TB, work Work) int64
	// Ticket draws the next observation ticket.
	Ticket(t testing.TB) lease.Serial
	// MoveLease makes a leased item's lease end at the store's now + by.
	MoveLease(t testing.TB, item int64, by time.Duration)
	// MoveRun makes a queued item eligible at the store's now + by.
	MoveRun(t testing.TB, item int64, by time.Duration)
	// Now is the store's clock.
	Now(t testing.TB) time.Time
	// Row reads an item as it stands.
	Row(t testing.TB, item int64) Row
	// Events reads an item's receipts in order.
	Events(t testing.TB, item int64) []Event
	// Scope reads the head of a scope with its cover.
	Scope(t testing.TB, workType, scope string) Scope
	// Effect reads an intent; ok is false where there is none.
	Effect(t testing.TB, key string) (e Effect, ok bool)
}

// Policy is what a work type allows. Zero caps mean no cap.
type Policy struct {
	Coalesces         bool
	TTL               time.Duration
	MaxRunning        int
	MaxRunningPerHost int
	MaxFailures       int
	MaxCrashes        int
	MaxClaims         int
	BackoffBase       time.Duration
	BackoffCap        time.Duration
	BlockedWait       time.Duration
}

// Work is a piece of work to queue. Work that coalesces is keyed by its marker, other
// work by Key.
type Work struct {
	WorkType string
	Scope    string
	Key      string
	Marker   string
	Payload  json.RawMessage
}

// Row is an item as it stands. Times are zero where the row has none.
type Row struct {
	State      string // queued, leased, done, failed, quarantined, cancelled
	Step       lease.Step
	DedupeKey  string
	Generation lease.Serial
	RunAt      time.Time
	Fence      lease.Serial
	Owner      string
	Until      time.Time
	Started    bool
	Bytes      int64 // of progress
	Stage      string
	Result     lease.Result
	Claims     int // charged: those since the base
	Failures   int // charged
	Crashes    int // charged
	LastError  string
	Evidence   json.RawMessage
	No         int    // of the newest receipt
	Head       string // its digest
	Finished   time.Time
}

// Event is a stored receipt with the digest that the store computed. Its Previous is
// empty: the suite walks the chain.
type Event struct {
	lease.Receipt
	Digest string
}

// Scope is the head of a scope with its cover; Covered is false where nothing is.
type Scope struct {
	Generation lease.Serial // of the next publication
	Streak     int          // bad ends in a row
	Covered    bool
	Marker     string
	Ticket     lease.Serial
	TakenAt    time.Time
	Item       int64
	Fence      lease.Serial
	CoverOf    lease.Serial // the covered generation
	Evidence   json.RawMessage
}

// Effect is an intent as it stands. State is "intent" while it is open.
type Effect struct {
	State    lease.EffectState
	Kind     string
	Item     int64
	Fence    lease.Serial
	Target   json.RawMessage
	Evidence json.RawMessage
	Tries    int
}
