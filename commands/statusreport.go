package commands

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/ledger"
)

// noteLength bounds what the table shows of an error, in bytes; --json has it whole.
const noteLength = 160

// unregistered are the scopes of this host's configuration that the ledger has never
// heard of: no tick has run since they were written down.
func unregistered(riders []loop.Consumer, q ledger.StatusQuery, report ledger.Report) []ledger.Scope {
	var unseen []ledger.Scope
	for _, rider := range riders {
		for _, scope := range rider.Scopes() {
			known := slices.ContainsFunc(report.Scopes, func(s ledger.ScopeStatus) bool {
				return s.WorkType == scope.WorkType && s.Scope == scope.Key
			})
			if !known && (q.Scope == "" || q.Scope == scope.Key) && (q.WorkType == "" || q.WorkType == scope.WorkType) {
				unseen = append(unseen, scope)
			}
		}
	}
	return unseen
}

func printStatus(env *Env, conf *config.Config, report ledger.Report, unseen []ledger.Scope) error {
	if report.Refused != nil {
		env.tell(report.Refused, loop.StatusRefused)
	}
	if env.json {
		return printStatusJSON(env, report, unseen)
	}
	if err := printScopes(env, conf, report, unseen); err != nil {
		return err
	}
	for _, note := range notes(report) {
		if err := env.say("%s", note); err != nil {
			return err
		}
	}
	return nil
}

func printScopes(env *Env, conf *config.Config, report ledger.Report, unseen []ledger.Scope) error {
	if len(report.Scopes)+len(unseen) == 0 {
		return env.say("no scope: the ledger knows none, and the configuration has none")
	}
	types := make(map[string]bool)
	var rows [][]string
	for _, s := range report.Scopes {
		types[s.WorkType] = true
		note := noteText(s, report.Now)
		if retired(conf, s) {
			note = "not in the configuration any more"
		}
		rows = append(rows, []string{
			s.WorkType, s.Scope, string(s.State), activityText(s, report.Now),
			ago(s.TakenAt, report.Now), ago(s.UncoveredSince, report.Now), note,
		})
	}
	for _, s := range unseen {
		types[s.WorkType] = true
		rows = append(rows, []string{s.WorkType, s.Key, string(ledger.New), "", "never", "", "no tick has looked at it yet: heyaira-loop tick"})
	}
	header := []string{"TYPE", "SCOPE", "STATE", "ACTIVITY", "COVERED", "UNCOVERED", "NOTE"}
	if len(types) == 1 {
		header = header[1:]
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return env.printTable(header, rows)
}

// activityText says what happens to a scope's item: since when, how far, where, and
// until when and why it waits.
func activityText(s ledger.ScopeStatus, now time.Time) string {
	text := string(s.Activity)
	switch s.Activity {
	case ledger.InRun, ledger.Verifying:
		if !s.StartedAt.IsZero() {
			text += " " + span(now.Sub(s.StartedAt))
		}
		if s.Bytes > 0 {
			text += " " + size(s.Bytes)
		}
		if s.Stage != "" {
			text += " (" + s.Stage + ")"
		}
		return text + " on " + hostOf(s.Owner)
	case ledger.Claimed:
		return text + " by " + hostOf(s.Owner)
	case ledger.Expired:
		return "lease of " + hostOf(s.Owner) + " expired"
	case ledger.Waiting, ledger.BackingOff, ledger.IsBlocked:
		text += " until " + moment(s.RunAt, now)
	}
	if s.HeldBy != "" && s.HeldBy != "backoff" {
		text += " (" + s.HeldBy + ")"
	}
	return text
}

// noteText says what is wrong with a scope, or what it waits for.
func noteText(s ledger.ScopeStatus, now time.Time) string {
	text := ""
	switch {
	case s.Unobservable && s.ObserveError != "":
		text = s.ObserveError
	case s.Unobservable:
		text = "nobody looks at it: is tick in the crontab of its hosts?"
	case s.Failing && s.Item == 0:
		text = fmt.Sprintf("item %d is %s: %s", s.BadItem, s.BadState, s.LastError)
	case s.Failing:
		text = s.LastError
	case s.Overdue && s.RPO > 0:
		text = "rpo is " + span(s.RPO)
	case s.Activity == ledger.Expired:
		text = "heyaira-loop reclaim takes it back"
	case s.Gated:
		text = s.Gate
	case s.Paused && !s.PausedUntil.IsZero():
		text = "paused until " + moment(s.PausedUntil, now) + ": " + s.PauseNote
	case s.Paused:
		text = s.PauseNote
	}
	if len(text) > noteLength {
		text = strings.ToValidUTF8(text[:noteLength], "") + "…"
	}
	return text
}

// notes are what is to be known beside the scopes.
func notes(report ledger.Report) []string {
	var notes []string
	for _, differ := range report.Differ {
		notes = append(notes, fmt.Sprintf("the policy of %s differs between %s; the stricter caps are in force", differ.WorkType, strings.Join(differ.Hosts, ", ")))
	}
	for _, host := range report.Hosts {
		if host.Took > time.Minute {
			notes = append(notes, fmt.Sprintf("the last tick of %s took %s, longer than a beat of a minute", host.Host, span(host.Took)))
		}
	}
	return notes
}

// hostOf is the host in an owner's name.
func hostOf(owner string) string {
	host, _, _ := strings.Cut(owner, ":")
	return host
}

func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return span(max(0, now.Sub(at))) + " ago"
}

// plural counts things in words.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
