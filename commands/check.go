package commands

import (
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/ledger"
)

// newFor is how long a scope may stand without its first cover.
const newFor = time.Hour

// fact is one thing that is wrong with a scope.
type fact struct {
	Kind     string `json:"kind"` // "fact"
	WorkType string `json:"work_type"`
	Scope    string `json:"scope"`
	Fact     string `json:"fact"`
	Detail   string `json:"detail"`
}

// judge prints a line for each fact that is wrong with a scope of the configuration, and
// ends with status 3 where there is one. It judges facts and not the state's word, which shows the worst one only.
func judge(env *Env, conf *config.Config, report ledger.Report, unseen []ledger.Scope) error {
	if report.Refused != nil {
		return report.Refused
	}
	var wrong []fact
	judged := len(unseen)
	for _, s := range report.Scopes {
		if retired(conf, s) {
			continue
		}
		judged++
		wrong = append(wrong, wrongWith(s, report.Now)...)
	}
	for _, s := range unseen {
		wrong = append(wrong, fact{"fact", s.WorkType, s.Key, "unregistered", "it stands in the configuration, and no tick has looked at it: heyaira-loop tick"})
	}
	for _, f := range wrong {
		if env.json {
			if err := env.printJSON(f); err != nil {
				return err
			}
			continue
		}
		if err := env.say("%s: %s: %s", f.Scope, f.Fact, f.Detail); err != nil {
			return err
		}
	}
	switch {
	case len(wrong) > 0:
		return told(statusUnhealthy)
	case terminal(env.Out) && !env.json:
		return env.say("healthy: %s", plural(judged, "scope"))
	}
	return nil
}

func wrongWith(s ledger.ScopeStatus, now time.Time) []fact {
	var wrong []fact
	add := func(name, format string, args ...any) {
		wrong = append(wrong, fact{"fact", s.WorkType, s.Scope, name, oneLine(fmt.Sprintf(format, args...))})
	}
	switch {
	case s.Unobservable && s.ObserveError != "":
		add("unobservable", "%s", s.ObserveError)
	case s.Unobservable && s.ObservedAt.IsZero():
		add("unobservable", "nobody has looked at it")
	case s.Unobservable:
		add("unobservable", "nobody has looked at it for %s", span(now.Sub(s.ObservedAt)))
	}
	switch {
	case s.Failing && s.Item != 0:
		add("failing", "item %d: %s", s.Item, s.LastError)
	case s.Failing:
		add("failing", "item %d is %s: %s", s.BadItem, s.BadState, s.LastError)
	}
	switch {
	case s.Overdue && !s.UncoveredSince.IsZero():
		add("overdue", "a change is uncovered for %s, rpo is %s", span(now.Sub(s.UncoveredSince)), span(s.RPO))
	case s.Overdue:
		add("overdue", "an occurrence is late by %s, rpo is %s", span(now.Sub(s.NextRunAt)), span(s.RPO))
	}
	if s.New && now.Sub(s.RegisteredAt) > newFor {
		add("new", "nothing is covered since it was registered %s ago", span(now.Sub(s.RegisteredAt)))
	}
	return wrong
}
