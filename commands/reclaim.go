package commands

import (
	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/lease"
)

func reclaimCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "reclaim",
		Usage: "put work whose lease has expired back into the queue",
		Action: func(c *cli.Context) error {
			db, closeLedger, err := env.Ledger(c.Context)
			if err != nil {
				return err
			}
			defer closeLedger()
			items, err := loop.Reclaim(c.Context, db)
			for _, item := range items {
				if err := printReclaimed(env, item); err != nil {
					return err
				}
			}
			if err == nil && len(items) == 0 && terminal(env.Out) && !env.json {
				return env.say("reclaim: no lease has expired")
			}
			return err
		},
	}
}

// printReclaimed tells of every item to machines and on a terminal, and else of those
// that do not come back by themselves.
func printReclaimed(env *Env, item lease.Reclaimed) error {
	if env.json {
		return env.printJSON(map[string]any{
			"item": item.Item, "work_type": item.WorkType, "scope": item.Scope,
			"outcome": item.Outcome, "crashes": item.Crashes,
		})
	}
	if item.Outcome == lease.Quarantined || terminal(env.Out) {
		return env.say("%s: item %d, its lease expired, %d times so far: %s", item.Scope, item.Item, item.Crashes, words(item.Outcome))
	}
	return nil
}
