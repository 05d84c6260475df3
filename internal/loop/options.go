package loop

import (
	"time"

	"github.com/heyaira/heyaira-loop/ledger"
)

// TickOptions say what a tick looks at.
type TickOptions struct {
	WorkType string        // "": all
	Scope    string        // "": all
	Now      bool          // work even where nothing changed, and at once
	DryRun   bool          // look, and write nothing
	Timeout  time.Duration // of the whole tick after the splay; 0: 45 s
	Splay    time.Duration // wait a stable part of it first, by host name
	Host     string
	Program  string // version of this program
}

// TickReport is what a tick found.
type TickReport struct {
	Scopes []ScopeReport // in the order of the configuration
	DryRun bool
	Took   time.Duration
}

// Status is 1 when a scope could not be observed, else 0.
func (r TickReport) Status() int {
	for _, scope := range r.Scopes {
		if scope.Err != nil {
			return StatusFailed
		}
	}
	return StatusDone
}

// ScopeReport is what a tick found of one scope.
type ScopeReport struct {
	WorkType string
	Scope    string
	Err      error           // why it could not be observed; holds no secret
	Due      int             // observations that were, or in a dry run would be, ensured
	Answers  []ledger.Answer // what became of them
	News     []News          // what a person should know
}

// News is what a person should know of a scope, told once, by the tick that sees it
// first.
type News string

// The news that a tick can tell.
const (
	Overdue      News = "overdue"      // uncovered for longer than its rpo
	Unobservable News = "unobservable" // the look failed, the one before did not
	Recovered    News = "recovered"    // the look before failed, this one did not
)

// ClaimOptions say what to claim.
type ClaimOptions struct {
	WorkType string // "": up to Limit of each type
	Scope    string // "": every scope of this host's configuration
	Limit    int    // of each work type; 0: 1
	Host     string // the first part of the owner
}
