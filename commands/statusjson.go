package commands

import (
	"encoding/json"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// The lines of status, for machines. kind tells them apart; times are RFC 3339 and
// null where there is none, durations are seconds.
type (
	scopeLine struct {
		Kind              string          `json:"kind"`
		WorkType          string          `json:"work_type"`
		Scope             string          `json:"scope"`
		Registered        bool            `json:"registered"` // a tick has told the ledger of it
		State             ledger.State    `json:"state"`
		Activity          ledger.Activity `json:"activity"`
		HeldBy            string          `json:"held_by"`
		Unobservable      bool            `json:"unobservable"`
		Failing           bool            `json:"failing"`
		Overdue           bool            `json:"overdue"`
		Due               bool            `json:"due"`
		Gated             bool            `json:"gated"`
		Paused            bool            `json:"paused"`
		New               bool            `json:"new"`
		Running           bool            `json:"running"`
		ObservedAt        *string         `json:"observed_at"`
		ObserveError      string          `json:"observe_error"`
		UncoveredSince    *string         `json:"uncovered_since"`
		CoveredAt         *string         `json:"covered_at"`
		TakenAt           *string         `json:"taken_at"`
		CoveredItem       int64           `json:"covered_item"`
		CoveredGeneration lease.Serial    `json:"covered_generation"`
		Generation        lease.Serial    `json:"generation"`
		MinInterval       float64         `json:"min_interval"`
		RPO               float64         `json:"rpo"`
		NextRunAt         *string         `json:"next_run_at"`
		Item              int64           `json:"item"`
		Step              lease.Step      `json:"step"`
		RunAt             *string         `json:"run_at"`
		Owner             string          `json:"owner"`
		StartedAt         *string         `json:"started_at"`
		LeaseUntil        *string         `json:"lease_until"`
		Bytes             int64           `json:"bytes"`
		Stage             string          `json:"stage"`
		Claims            int             `json:"claims"`
		Failures          int             `json:"failures"`
		Crashes           int             `json:"crashes"`
		Streak            int             `json:"streak"`
		LastError         string          `json:"last_error"`
		LastClass         lease.Class     `json:"last_class"`
		BadItem           int64           `json:"bad_item"`
		BadState          string          `json:"bad_state"`
		Gate              string          `json:"gate"`
		PauseNote         string          `json:"pause_note"`
		PausedUntil       *string         `json:"paused_until"`
	}
	hostLine struct {
		Kind     string  `json:"kind"`
		Host     string  `json:"host"`
		TickedAt *string `json:"ticked_at"`
		Program  string  `json:"program"`
		Scopes   int     `json:"scopes"`
		Took     float64 `json:"took"`
	}
	policyLine struct {
		Kind     string   `json:"kind"`
		WorkType string   `json:"work_type"`
		Hosts    []string `json:"hosts"` // whose policies differ
	}
	itemLine struct {
		Kind       string       `json:"kind"`
		Item       int64        `json:"item"`
		WorkType   string       `json:"work_type"`
		Scope      string       `json:"scope"`
		State      string       `json:"state"`
		Step       lease.Step   `json:"step"`
		DedupeKey  string       `json:"dedupe_key"`
		Generation lease.Serial `json:"generation"`
		Fence      lease.Serial `json:"fence"`
		Owner      string       `json:"owner"`
		Claims     int          `json:"claims"`
		Failures   int          `json:"failures"`
		Crashes    int          `json:"crashes"`
		RunAt      *string      `json:"run_at"`
		CreatedAt  *string      `json:"created_at"`
		StartedAt  *string      `json:"started_at"`
		LeaseUntil *string      `json:"lease_until"`
		FinishedAt *string      `json:"finished_at"`
		LastError  string       `json:"last_error"`
		LastClass  lease.Class  `json:"last_class"`
		Head       string       `json:"head"`
	}
	eventLine struct {
		Kind   string          `json:"kind"`
		Item   int64           `json:"item"`
		No     int             `json:"no"`
		At     *string         `json:"at"`
		Event  string          `json:"event"`
		Owner  string          `json:"owner"`
		Fence  lease.Serial    `json:"fence"`
		Detail json.RawMessage `json:"detail"`
		Digest string          `json:"digest"`
	}
)

func printStatusJSON(env *Env, report ledger.Report, unseen []ledger.Scope) error {
	for _, s := range report.Scopes {
		if err := env.printJSON(jsonStatus(s)); err != nil {
			return err
		}
	}
	for _, s := range unseen {
		line := scopeLine{Kind: "scope", WorkType: s.WorkType, Scope: s.Key, State: ledger.New, New: true, MinInterval: s.MinInterval.Seconds(), RPO: s.RPO.Seconds()}
		if err := env.printJSON(line); err != nil {
			return err
		}
	}
	for _, h := range report.Hosts {
		if err := env.printJSON(hostLine{"host", h.Host, clock(h.TickedAt), h.Program, h.Scopes, h.Took.Seconds()}); err != nil {
			return err
		}
	}
	for _, d := range report.Differ {
		if err := env.printJSON(policyLine{"policy", d.WorkType, d.Hosts}); err != nil {
			return err
		}
	}
	return nil
}

func jsonStatus(s ledger.ScopeStatus) scopeLine {
	return scopeLine{
		Kind: "scope", WorkType: s.WorkType, Scope: s.Scope, Registered: true,
		State: s.State, Activity: s.Activity, HeldBy: s.HeldBy,
		Unobservable: s.Unobservable, Failing: s.Failing, Overdue: s.Overdue, Due: s.Due,
		Gated: s.Gated, Paused: s.Paused, New: s.New, Running: s.Running,
		ObservedAt: clock(s.ObservedAt), ObserveError: s.ObserveError, UncoveredSince: clock(s.UncoveredSince),
		CoveredAt: clock(s.CoveredAt), TakenAt: clock(s.TakenAt), CoveredItem: s.CoveredItem,
		CoveredGeneration: s.CoveredGeneration, Generation: s.Generation,
		MinInterval: s.MinInterval.Seconds(), RPO: s.RPO.Seconds(), NextRunAt: clock(s.NextRunAt),
		Item: s.Item, Step: s.Step, RunAt: clock(s.RunAt), Owner: s.Owner,
		StartedAt: clock(s.StartedAt), LeaseUntil: clock(s.LeaseUntil), Bytes: s.Bytes, Stage: s.Stage,
		Claims: s.Claims, Failures: s.Failures, Crashes: s.Crashes, Streak: s.Streak,
		LastError: s.LastError, LastClass: s.LastClass, BadItem: s.BadItem, BadState: s.BadState,
		Gate: s.Gate, PauseNote: s.PauseNote, PausedUntil: clock(s.PausedUntil),
	}
}
