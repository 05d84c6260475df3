package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/ledger"
)

// tickLine is what a tick found of one scope, for machines.
type tickLine struct {
	WorkType string       `json:"work_type"`
	Scope    string       `json:"scope"`
	DryRun   bool         `json:"dry_run"`
	Due      int          `json:"due"`
	Answers  []tickAnswer `json:"answers"`
	News     []loop.News  `json:"news"`
	Error    string       `json:"error,omitempty"`
}

type tickAnswer struct {
	Word ledger.Word `json:"word"`
	Item int64       `json:"item,omitempty"`
}

// printTick tells everything to machines and on a terminal, and else what a person
// should know: news, which a tick has once, so that a fault is no mail a minute.
func printTick(env *Env, report loop.TickReport) error {
	if len(report.Scopes) == 0 && terminal(env.Out) && !env.json {
		return env.say("tick: this host's configuration has no scope")
	}
	for _, scope := range report.Scopes {
		if err := printScope(env, report, scope); err != nil {
			return err
		}
	}
	return nil
}

func printScope(env *Env, report loop.TickReport, scope loop.ScopeReport) error {
	everything := terminal(env.Out) || report.DryRun
	if env.json {
		if err := env.printJSON(jsonScope(report, scope)); err != nil {
			return err
		}
	}
	if scope.Err != nil {
		if everything || slices.Contains(scope.News, loop.Unobservable) {
			env.tell(fmt.Errorf("observe %s: %w", scope.Scope, scope.Err), loop.StatusFailed)
		} else {
			env.Log.Info().Str("work_type", scope.WorkType).Str("scope", scope.Scope).Err(scope.Err).Msg("still unobservable")
		}
	}
	if env.json {
		return nil
	}
	for _, news := range scope.News {
		if text := newsText(news); text != "" {
			if err := env.say("%s: %s", scope.Scope, text); err != nil {
				return err
			}
		}
	}
	if !everything || scope.Err != nil {
		return nil
	}
	return env.say("%s: %s", scope.Scope, scopeText(report, scope))
}

func jsonScope(report loop.TickReport, scope loop.ScopeReport) tickLine {
	line := tickLine{
		WorkType: scope.WorkType, Scope: scope.Scope, DryRun: report.DryRun, Due: scope.Due,
		Answers: []tickAnswer{}, News: append([]loop.News{}, scope.News...),
	}
	for _, answer := range scope.Answers {
		line.Answers = append(line.Answers, tickAnswer{answer.Word, answer.Item})
	}
	if scope.Err != nil {
		line.Error = oneLine(scope.Err.Error())
	}
	return line
}

// newsText is a piece of news for people; an unobservable scope is told with its error.
func newsText(news loop.News) string {
	switch news {
	case loop.Overdue:
		return "overdue: a change has been uncovered for longer than rpo; heyaira-loop status says what it waits for"
	case loop.Recovered:
		return "recovered"
	}
	return ""
}

// scopeText is what came of one scope, for people.
func scopeText(report loop.TickReport, scope loop.ScopeReport) string {
	switch {
	case scope.Due == 0:
		return "nothing changed since what is covered"
	case report.DryRun:
		return "work is due"
	}
	texts := make([]string, 0, len(scope.Answers))
	for _, answer := range scope.Answers {
		text := wordText(answer.Word)
		if answer.Item != 0 {
			text += fmt.Sprintf(" (item %d)", answer.Item)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// wordText is a word of ensure for people.
func wordText(word ledger.Word) string {
	switch word {
	case ledger.Created:
		return "work is due and queued"
	case ledger.Advanced:
		return "queued work moved on to the newest change"
	case ledger.Running:
		return "work is running; what changed since is due after it"
	case ledger.Covered:
		return "covered already"
	case ledger.Duplicate:
		return "queued already"
	case ledger.Failed:
		return "failed before and set aside; reclaim brings it back"
	case ledger.Cancelled:
		return "cancelled before"
	case ledger.Stale, ledger.Raced:
		return "another tick was faster"
	case ledger.Full:
		return "the queue is full"
	case ledger.Paused:
		return "paused"
	}
	return string(word)
}
