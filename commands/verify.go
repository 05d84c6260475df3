package commands

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/loop"
)

func verifyCommand(env *Env) *cli.Command {
	s := &step{env: env, name: "verify"}
	return &cli.Command{
		Name:  "verify",
		Usage: "prove the results of the lease documents on standard input, and cover their scopes",
		Flags: []cli.Flag{s.leaseFlag()},
		Action: func(c *cli.Context) error {
			inputs, err := s.inputs(c)
			if err != nil {
				return err
			}
			defer s.closeAll()
			riders, err := consumers(env)
			if err != nil {
				return err
			}
			open, err := s.open()
			if err != nil {
				return err
			}
			host, err := env.Host()
			if err != nil {
				return err
			}
			var unwritten error
			summary, err := loop.Verify(c.Context, open, riders, inputs, loop.StepOptions{
				Host: host,
				Ended: func(e loop.End) {
					s.end(e)
					if env.json && unwritten == nil {
						unwritten = printDocument(env, e)
					}
				},
			})
			if err == nil {
				err = unwritten
			}
			return s.finish(summary, err)
		},
	}
}

// printDocument writes an item as the lease document that it ended as.
func printDocument(env *Env, e loop.End) error {
	line, err := loop.Document(e.Item, e.Outcome)
	if err != nil {
		return err
	}
	if _, err := env.Out.Write(line); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
