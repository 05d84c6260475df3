package commands

import (
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Main runs one command line and answers the status that the process has to exit
// with. args begins with the program's name.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signals()
	defer stop()
	env := newEnv(in, out, errs)
	err := newApp(env).RunContext(ctx, args)
	status := exitStatus(ctx, err)
	if err != nil {
		env.tell(err, status)
	}
	if env.frame != "" {
		// The reader of a stream waits for its end line; one that is gone needs none.
		_ = loop.WriteEnd(out, env.frame, 0, status)
	}
	return status
}

func newApp(env *Env) *cli.App {
	app := &cli.App{
		Name:                      "heyaira-loop",
		Usage:                     "one step of a durable loop, started by cron",
		Description:               description,
		Version:                   programVersion(),
		Reader:                    env.In,
		Writer:                    env.Out,
		ErrWriter:                 env.Err,
		ExitErrHandler:            func(*cli.Context, error) {}, // Main alone decides the status
		DisableSliceFlagSeparator: true,
		HideHelpCommand:           true,
		Action:                    unknownCommand,
		OnUsageError:              usage,
		Commands: []*cli.Command{
			migrateCommand(env),
			tickCommand(env),
			claimCommand(env),
			runCommand(env),
			verifyCommand(env),
			reclaimCommand(env),
			statusCommand(env),
			restoreCommand(env),
		},
	}
	for _, command := range app.Commands {
		strict(env, command)
	}
	return app
}

const description = `A beat of the loop:   heyaira-loop tick; heyaira-loop reclaim
                      heyaira-loop claim | heyaira-loop run | heyaira-loop verify
Look and get back:    heyaira-loop status; heyaira-loop restore

` + statusHelp

// strict makes every command report errors of usage alike, take its common flags into
// force, and refuse arguments: no command has any.
func strict(env *Env, c *cli.Command) {
	name, action := c.Name, c.Action
	c.HideHelpCommand = true
	c.Description = strings.TrimSpace(c.Description + "\n\n" + statusHelp)
	c.Flags = append(c.Flags, env.flags()...)
	c.OnUsageError = func(ctx *cli.Context, err error, sub bool) error {
		env.begin(name)
		return usage(ctx, err, sub)
	}
	c.Action = func(ctx *cli.Context) error {
		env.begin(name)
		if ctx.NArg() > 0 {
			return misuse("flags go before arguments, and "+name+" takes no arguments", "unexpected argument %q", ctx.Args().First())
		}
		if err := env.settle(); err != nil {
			return err
		}
		return action(ctx)
	}
}

// usage words the errors of the flag package as ours.
func usage(ctx *cli.Context, err error, _ bool) error {
	text := err.Error()
	call := "heyaira-loop"
	if ctx.Command != nil && ctx.Command.Name != "" && ctx.Command.Name != call {
		call += " " + ctx.Command.Name
	}
	advice := call + " --help lists its flags"
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		name = "--" + strings.TrimLeft(name, "-")
		if near := config.Nearest(name, flagNames(ctx)); near != "" {
			advice = "did you mean " + near + "?"
		}
		return &usageError{"unknown flag " + name, advice}
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return &usageError{"flag --" + strings.TrimLeft(name, "-") + " needs a value", advice}
	}
	return &usageError{text, advice}
}

func flagNames(ctx *cli.Context) []string {
	var names []string
	if ctx.Command != nil {
		for _, flag := range ctx.Command.Flags {
			names = append(names, "--"+flag.Names()[0])
		}
	}
	return names
}

// unknownCommand is what runs where no command was named.
func unknownCommand(ctx *cli.Context) error {
	if !ctx.Args().Present() {
		return misuse("heyaira-loop --help lists the commands", "a command is needed")
	}
	word, advice := ctx.Args().First(), "heyaira-loop --help lists the commands"
	var names []string
	for _, command := range ctx.App.Commands {
		names = append(names, command.Name)
	}
	if near := config.Nearest(word, names); near != "" {
		advice = "did you mean " + near + "?"
	}
	return misuse(advice, "unknown command %q", word)
}

// isUsage tells whether err is the caller's mistake and not the world's.
func isUsage(err error) bool {
	var mistake *usageError
	var refusal *config.Error
	var unknown *loop.UnknownError
	var conninfo *ledger.ConninfoError
	return errors.As(err, &mistake) || errors.As(err, &refusal) || errors.As(err, &unknown) || errors.As(err, &conninfo)
}
