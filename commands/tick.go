package commands

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/loop"
)

func tickCommand(env *Env) *cli.Command {
	var o loop.TickOptions
	return &cli.Command{
		Name:  "tick",
		Usage: "look at every scope of this host's configuration and record the work that is due",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "work-type", Destination: &o.WorkType, Usage: "look at scopes of this `TYPE` only"},
			&cli.StringFlag{Name: "scope", Destination: &o.Scope, Usage: "look at this `SCOPE` only"},
			boolFlag("now", &o.Now, "make work even where nothing changed, and do not wait for min_interval"),
			boolFlag("dry-run", &o.DryRun, "look, say what is due, and record nothing"),
			&cli.DurationFlag{Name: "timeout", Destination: &o.Timeout, Value: 45 * time.Second, Usage: "end within this `TIME`"},
			&cli.DurationFlag{Name: "splay", Destination: &o.Splay, Usage: "first wait a part of this `TIME` that is the same for a host at every tick"},
		},
		Action: func(c *cli.Context) error {
			if o.Timeout < time.Second || o.Timeout > time.Hour {
				return misuse("", "flag --timeout: want a time from 1s to 1h")
			}
			if o.Splay < 0 || o.Splay > time.Hour {
				return misuse("", "flag --splay: want a time from 0s to 1h")
			}
			riders, err := consumers(env)
			if err != nil {
				return err
			}
			if o.Host, err = env.Host(); err != nil {
				return err
			}
			o.Program = programVersion()
			db, closeLedger, err := env.Ledger(c.Context)
			if err != nil {
				return err
			}
			defer closeLedger()
			report, err := loop.Tick(c.Context, db, riders, o)
			if err != nil {
				return fmt.Errorf("tick: %w", err)
			}
			if err := printTick(env, report); err != nil {
				return err
			}
			if status := report.Status(); status != loop.StatusDone {
				return told(status)
			}
			return nil
		},
	}
}
