package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// State is the worst thing that is true of a scope.
type State string

// The states, worst first. Work on its way hides none.
const (
	Unobservable State = "unobservable" // the last look failed, or is missing for too long
	Failing      State = "failing"      // the newest ended item ended badly, or the one on its way has failed before
	Overdue      State = "overdue"      // uncovered, or its occurrence late, for longer than rpo
	Due          State = "due"          // uncovered, or an item on its way
	Gated        State = "gated"
	IsPaused     State = "paused"
	New          State = "new" // never covered
	Idle         State = "idle"
)

// Activity is what happens to a scope's item.
type Activity string

// The activities; "" where no item is on its way.
const (
	Queued     Activity = "queued"
	Waiting    Activity = "waiting" // until RunAt, for what HeldBy names
	Claimed    Activity = "claimed" // leased, not started
	InRun      Activity = "running"
	Verifying  Activity = "verifying"
	BackingOff Activity = "backing off" // until RunAt
	IsBlocked  Activity = "blocked"     // until RunAt, for what LastError says
	Expired    Activity = "expired"     // the lease ended; reclaim takes it back
)

// StatusQuery narrows Status. Beat is the interval at which ticks are expected; a
// watched scope is unobservable when its last good look is older than 10 minutes and
// than three beats.
type StatusQuery struct {
	WorkType string // "" is all
	Scope    string // "" is all
	Beat     time.Duration
}

// Report is what the ledger knows, from rows alone.
type Report struct {
	Ledger  Identity
	Refused *RefusedError // why every step would refuse this ledger; nil where none would
	Now     time.Time     // the ledger's clock: ages are counted from it
	Scopes  []ScopeStatus
	Hosts   []HostStatus
	Differ  []PolicyDifference
}

// HostStatus is a host's last tick.
type HostStatus struct {
	Host     string
	TickedAt time.Time
	Program  string
	Scopes   int
	Took     time.Duration
}

// PolicyDifference is a work type whose policy is not the same on all hosts: of its caps
// the strictest are in force.
type PolicyDifference struct {
	WorkType string
	Hosts    []string
}

// ScopeStatus is one scope. Zero times, ids and texts are what there is not.
type ScopeStatus struct {
	WorkType string
	Scope    string
	State    State
	Activity Activity
	HeldBy   string // the setting that holds the item back: pause, gate, blocked_wait, backoff, min_interval, window, max_running

	Unobservable, Failing, Overdue, Due, Gated, Paused, New bool
	Running                                                 bool // a live lease, whatever State says

	Gate        string
	PauseNote   string
	PausedUntil time.Time
	MinInterval time.Duration
	RPO         time.Duration // 0: none
	Generation  lease.Serial  // of the next publication
	Streak      int           // bad ends in a row

	RegisteredAt   time.Time
	ObservedAt     time.Time
	ObserveError   string
	UncoveredSince time.Time
	NextRunAt      time.Time

	CoveredGeneration lease.Serial
	CoveredAt         time.Time
	TakenAt           time.Time
	CoveredItem       int64

	Item       int64 // on its way
	Step       lease.Step
	RunAt      time.Time
	Owner      string
	StartedAt  time.Time
	LeaseUntil time.Time
	Bytes      int64
	Stage      string
	Claims     int
	Failures   int
	Crashes    int
	LastError  string // of Item, or of BadItem
	LastClass  lease.Class
	BadItem    int64 // ended badly, and nothing newer was proven since
	BadState   string
}

// Status reports every scope that q names, in one turn. It works on a ledger that steps
// refuse, and says why they do.
func (db *DB) Status(ctx context.Context, q StatusQuery) (Report, error) {
	var w whose
	var report Report
	patience := max(10*time.Minute, 3*q.Beat)
	err := db.send(ctx, repeatable, w.statement(db.options),
		statement{name: "status", args: []any{patience, q.WorkType, q.Scope},
			fresh: func() { report.Scopes = nil }, scan: collect(&report.Scopes, scanScope)},
		statement{name: "status_hosts",
			fresh: func() { report.Hosts = nil }, scan: collect(&report.Hosts, scanHost)},
		statement{name: "status_policies",
			fresh: func() { report.Differ = nil }, scan: collect(&report.Differ, scanDifference)},
	)
	if err != nil {
		return Report{}, err
	}
	report.Ledger, report.Now = w.identity, w.now
	var refused *RefusedError
	if errors.As(w.check(db.options), &refused) {
		report.Refused = refused
	}
	return report, nil
}

func scanScope(rows pgx.Rows) (ScopeStatus, error) {
	var s ScopeStatus
	var pausedUntil, observed, uncovered, next, covered, taken, run, started, until *time.Time
	err := rows.Scan(&s.WorkType, &s.Scope, &s.State, &s.Activity, &s.HeldBy,
		&s.Unobservable, &s.Failing, &s.Overdue, &s.Due, &s.Gated, &s.Paused, &s.New, &s.Running,
		&s.Gate, &s.PauseNote, &pausedUntil, &s.MinInterval, &s.RPO, &s.Generation, &s.Streak,
		&s.RegisteredAt, &observed, &s.ObserveError, &uncovered, &next,
		&s.CoveredGeneration, &covered, &taken, &s.CoveredItem,
		&s.Item, &s.Step, &run, &s.Owner, &started, &until, &s.Bytes, &s.Stage, &s.Claims, &s.Failures, &s.Crashes,
		&s.LastError, &s.LastClass, &s.BadItem, &s.BadState)
	s.PausedUntil, s.ObservedAt, s.UncoveredSince, s.NextRunAt = moment(pausedUntil), moment(observed), moment(uncovered), moment(next)
	s.CoveredAt, s.TakenAt = moment(covered), moment(taken)
	s.RunAt, s.StartedAt, s.LeaseUntil = moment(run), moment(started), moment(until)
	return s, err
}

func scanHost(rows pgx.Rows) (HostStatus, error) {
	var h HostStatus
	err := rows.Scan(&h.Host, &h.TickedAt, &h.Program, &h.Scopes, &h.Took)
	return h, err
}

func scanDifference(rows pgx.Rows) (PolicyDifference, error) {
	var d PolicyDifference
	err := rows.Scan(&d.WorkType, &d.Hosts)
	return d, err
}
