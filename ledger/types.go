package ledger

import (
	"encoding/json"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// Policy is what a work type allows. Zero caps mean no cap; zero ReviveAfter means
// that quarantined work waits for a person.
type Policy struct {
	WorkType          string
	Coalesces         bool // one item on its way for each scope, advanced to the newest marker
	First             bool // claimed before the others (notices)
	LeaseTTL          time.Duration
	MaxRunning        int
	MaxRunningPerHost int
	MaxPerMinute      int
	MaxQueued         int
	MaxFailures       int
	MaxCrashes        int
	MaxClaims         int
	BackoffBase       time.Duration
	BackoffCap        time.Duration
	BackoffFlat       bool
	BlockedWait       time.Duration
	ReviveAfter       time.Duration
}

// Scope is one protected or watched thing of this host's configuration. Zero values
// leave the work type's policy in force.
type Scope struct {
	WorkType    string
	Key         string
	LeaseTTL    time.Duration
	MaxFailures int
	MaxRunning  int
	MinInterval time.Duration // from one cover to the next
	RPO         time.Duration // overdue when uncovered for longer
	Unwatched   bool          // nobody observes it, so it cannot be unobservable
}

// Identity is who the ledger is. Former ids are those it had before it was adopted.
type Identity struct {
	ID          string   // UUID
	Former      []string // UUIDs
	Environment string
	Epoch       int64
}

// Survey is the ledger's answer to the first question of a tick.
type Survey struct {
	Ledger Identity
	Ticket lease.Serial      // drawn before any marker is read
	Now    time.Time         // the ledger's clock
	Policy string            // digest of the policy that this host registered last, "" if none
	Beat   time.Time         // when this host ticked last; zero if never
	Heads  []Head            // one for each scope that was asked for, in that order
	Stores map[string]string // ids (UUIDs) of the stores that the ledger knows, by name
}

// Head is what the ledger knows of one scope.
type Head struct {
	WorkType       string
	Scope          string
	Known          bool // registered
	Generation     lease.Serial
	NextRunAt      time.Time
	Paused         bool
	Gate           string
	ObservedMarker string
	ObserveError   string
	Uncovered      bool // a change was seen that is not covered yet
	UncoveredSince time.Time
	Active         bool   // an item is queued or leased
	EverCovered    bool   // a coverage row exists
	CoveredMarker  string // "" where nothing is covered
	CoveredAt      time.Time
	TakenAt        time.Time // when the covered snapshot was taken
	Memo           json.RawMessage

	Ticket lease.Serial      // the survey's
	Now    time.Time         // the survey's
	Stores map[string]string // the survey's
	Force  bool              // the caller wants work even where nothing changed
}

// Observation is what an observer saw. Work that coalesces is keyed by its marker;
// other work by Key, its business identity.
type Observation struct {
	WorkType   string
	Scope      string
	Key        string
	Marker     string
	Payload    json.RawMessage
	Occurrence time.Time // zero without a schedule
	Following  time.Time
	NotBefore  time.Time       // zero: at once
	Forced     bool            // never answered covered, ignores MinInterval
	Now        bool            // forced by a person: waits for no window and no back-off, and makes ended work anew
	Memo       json.RawMessage // nil leaves what the scope remembers, null clears it
}

// Word is ensure's answer to one observation.
type Word string

// The words of ensure.
const (
	Created   Word = "created"
	Advanced  Word = "advanced"
	Running   Word = "running"
	Covered   Word = "covered"
	Duplicate Word = "duplicate"
	Failed    Word = "failed"
	Cancelled Word = "cancelled"
	Stale     Word = "stale"
	Raced     Word = "raced"
	Full      Word = "full"
	Paused    Word = "paused"
)

// Answer says what became of one observation.
type Answer struct {
	WorkType string
	Scope    string
	Word     Word
	Item     int64 // 0 where no item stands for it
	Err      error // why the observation was refused; Word is "" then
}

// Look is how one observer fared. Error is "" where it went well, and holds no secret.
type Look struct {
	WorkType string
	Scope    string
	Error    string
}

// Cover is coverage taken from a store's own evidence, for a ledger without a row.
type Cover struct {
	WorkType   string
	Scope      string
	Generation lease.Serial
	Marker     string
	TakenAt    time.Time
	Fence      lease.Serial
	Evidence   json.RawMessage
}
