package commands

import (
	"strconv"
	"time"

	"github.com/heyaira/heyaira-loop/ledger"
)

// printItems shows pieces of work, the newest first.
func printItems(env *Env, list []ledger.ItemStatus) error {
	if env.json {
		for _, i := range list {
			line := itemLine{
				Kind: "item", Item: i.Item, WorkType: i.WorkType, Scope: i.Scope, State: i.State, Step: i.Step,
				DedupeKey: i.DedupeKey, Generation: i.Generation, Fence: i.Fence, Owner: i.Owner,
				Claims: i.Claims, Failures: i.Failures, Crashes: i.Crashes,
				RunAt: clock(i.RunAt), CreatedAt: clock(i.CreatedAt), StartedAt: clock(i.StartedAt),
				LeaseUntil: clock(i.LeaseUntil), FinishedAt: clock(i.FinishedAt),
				LastError: i.LastError, LastClass: i.LastClass, Head: i.Head,
			}
			if err := env.printJSON(line); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		return env.say("no work so far")
	}
	rows := make([][]string, 0, len(list))
	for _, i := range list {
		rows = append(rows, []string{
			strconv.FormatInt(i.Item, 10), i.Scope, i.State, string(i.Step), i.Generation.String(),
			strconv.Itoa(i.Claims), strconv.Itoa(i.Failures), strconv.Itoa(i.Crashes),
			stamp(i.CreatedAt), stamp(i.FinishedAt), i.LastError,
		})
	}
	return env.printTable([]string{"ITEM", "SCOPE", "STATE", "STEP", "GENERATION", "CLAIMS", "FAILURES", "CRASHES", "CREATED", "FINISHED", "LAST ERROR"}, rows)
}

// printEvents shows the receipts of one item, the oldest first.
func printEvents(env *Env, list []ledger.Event) error {
	if env.json {
		for _, e := range list {
			line := eventLine{Kind: "event", Item: e.Item, No: e.No, At: clock(e.At), Event: e.Kind, Owner: e.Owner, Fence: e.Fence, Detail: e.Detail, Digest: e.Digest}
			if err := env.printJSON(line); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([][]string, 0, len(list))
	for _, e := range list {
		fence := ""
		if e.Fence != 0 {
			fence = e.Fence.String()
		}
		rows = append(rows, []string{strconv.Itoa(e.No), stamp(e.At), e.Kind, e.Owner, fence, string(e.Detail)})
	}
	return env.printTable([]string{"NO", "AT", "EVENT", "OWNER", "FENCE", "DETAIL"}, rows)
}

// stamp is a time to the second, for columns.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
