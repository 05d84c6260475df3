package lease

import (
	"encoding/json"
	"time"
)

// Step is what is to be done with an item: its phase in the ledger.
type Step string

// The two steps of a piece of work.
const (
	Run    Step = "run"
	Verify Step = "verify"
)

// Holder names one hold of one item. All three parts must match for a statement
// to change anything; the owner is new for every invocation and carries 64 random
// bits, so a fence that a lossy failover hands out twice fits nobody else.
type Holder struct {
	Item  int64  `json:"item,string"`
	Fence Serial `json:"fence"`
	Owner string `json:"owner"`
}

// Item is a leased piece of work as the store's row has it.
type Item struct {
	Holder
	WorkType   string
	Scope      string
	DedupeKey  string
	Generation Serial
	Step       Step
	Until      time.Time     // when the lease ends, by the store's clock
	TTL        time.Duration // how long a renewal lasts
	Claims     int
	Marker     string // what was observed when the work was made or last advanced
	Payload    json.RawMessage
	Head       string    // digest of the item's newest receipt
	Result     Result    // of the run; zero before verify
	Now        time.Time // the store's clock when it answered
}

// Result is what a run found. Marker, Ticket and TakenAt say what it captured and
// are zero for work that covers nothing; the ticket was drawn before the marker
// was read.
type Result struct {
	Data    json.RawMessage `json:"data,omitempty"`
	Marker  string          `json:"marker,omitempty"`
	Ticket  Serial          `json:"ticket,omitempty"`
	TakenAt time.Time       `json:"taken_at,omitzero"`
}

// Outcome is the word a statement answers for one item.
type Outcome string

// Every outcome. Superseded means proven, but something newer is covered already.
const (
	Ran         Outcome = "ran"
	Done        Outcome = "done"
	Covered     Outcome = "covered"
	Superseded  Outcome = "superseded"
	GivenBack   Outcome = "given_back"
	Retried     Outcome = "retried"
	BlockedWait Outcome = "blocked"
	Failed      Outcome = "failed"
	Quarantined Outcome = "quarantined"
	Lost        Outcome = "lost"
	RefutedNow  Outcome = "refuted"
)
