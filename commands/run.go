package commands

import (
	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/loop"
)

func runCommand(env *Env) *cli.Command {
	s := &step{env: env, name: "run"}
	var parallel int
	var progress string
	return &cli.Command{
		Name:  "run",
		Usage: "do the work of the lease documents on standard input, and print them on",
		Flags: []cli.Flag{
			s.leaseFlag(),
			&cli.IntFlag{Name: "parallel", Destination: &parallel, Value: 1, Usage: "work on `N` items of each type at a time"},
			&cli.StringFlag{Name: "progress", Destination: &progress, Value: "auto", Usage: "`HOW` progress is shown: auto, bar, log, none"},
		},
		Action: func(c *cli.Context) error {
			if parallel < 1 || parallel > 1000 {
				return misuse("", "flag --parallel: want a number from 1 to 1000")
			}
			shown, err := newProgress(env, progress)
			if err != nil {
				return err
			}
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
			env.frame = "" // from here on loop ends the stream
			summary, err := loop.Run(c.Context, open, riders, inputs, env.Out, loop.StepOptions{
				Host:     host,
				Parallel: parallel,
				Progress: shown.report,
				Ended: func(e loop.End) {
					shown.end(e.Item)
					s.end(e)
				},
			})
			return s.finish(summary, err)
		},
	}
}
