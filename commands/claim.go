package commands

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/loop"
)

func claimCommand(env *Env) *cli.Command {
	var o loop.ClaimOptions
	return &cli.Command{
		Name:  "claim",
		Usage: "lease work that is due, and print a lease document for each",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "work-type", Destination: &o.WorkType, Usage: "take work of this `TYPE` only"},
			&cli.StringFlag{Name: "scope", Destination: &o.Scope, Usage: "take work of this `SCOPE` only"},
			&cli.IntFlag{Name: "limit", Destination: &o.Limit, Value: 1, Usage: "take at most `N` items of each type"},
		},
		Action: func(c *cli.Context) error {
			if o.Limit < 1 || o.Limit > 10000 {
				return misuse("", "flag --limit: want a number from 1 to 10000")
			}
			riders, err := consumers(env)
			if err != nil {
				return err
			}
			if o.Host, err = env.Host(); err != nil {
				return err
			}
			db, closeLedger, err := env.Ledger(c.Context)
			if err != nil {
				return err
			}
			defer closeLedger()
			items, err := loop.Claim(c.Context, db, riders, o)
			if err != nil {
				return err
			}
			framed := env.frame != ""
			env.frame = "" // from here on loop ends the stream
			if err := loop.Hand(c.Context, db, env.Out, items, framed); err != nil {
				return fmt.Errorf("hand out leases: %w", err)
			}
			if terminal(env.Err) {
				return tellClaimed(c.Context, env, db, o, len(items))
			}
			return nil
		},
	}
}
