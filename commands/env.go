package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Env is what the process and the common flags give a command.
type Env struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	Log zerolog.Logger // silent until settle

	common
	command string         // the one that runs
	frame   string         // the stream that standard output still owes its end line
	config  *config.Config // nil until asked for
}

func newEnv(in io.Reader, out, errs io.Writer) *Env {
	return &Env{In: in, Out: out, Err: errs, Log: zerolog.Nop()}
}

// begin notes which command runs. Whatever happens from here on, a reader of lease
// documents gets an end line.
func (env *Env) begin(command string) {
	env.command = command
	if (command == "claim" || command == "run") && !terminal(env.Out) {
		env.frame = command
	}
	if env.logFormat == "" {
		env.logFormat = os.Getenv("HEYAIRA_LOG_FORMAT")
	}
}

// settle checks the common flags and takes the variables that stand for them.
func (env *Env) settle() error {
	if err := refusePassword("ledger", env.ledger); err != nil {
		return err
	}
	if env.ledger == "" {
		env.ledger = os.Getenv("HEYAIRA_LEDGER")
	}
	if env.logLevel == "" {
		env.logLevel = os.Getenv("HEYAIRA_LOG_LEVEL")
	}
	return env.openLog()
}

// openLog sends log lines to standard error: for people on a terminal, else as JSON.
func (env *Env) openLog() error {
	levels := []string{"debug", "info", "warn", "error"}
	level := env.logLevel
	if level == "" {
		level = "warn"
		if terminal(env.Err) {
			level = "info"
		}
	}
	if !slices.Contains(levels, level) {
		return misuse("it is one of "+strings.Join(levels, ", "), "unknown log level %q", level)
	}
	parsed, err := zerolog.ParseLevel(level)
	if err != nil {
		return misuse("", "unknown log level %q", level)
	}
	out := env.Err
	switch env.logFormat {
	case "json":
	case "", "auto", "console":
		if env.logFormat == "console" || terminal(env.Err) {
			out = zerolog.ConsoleWriter{Out: env.Err, NoColor: !terminal(env.Err) || os.Getenv("NO_COLOR") != "", TimeFormat: time.TimeOnly}
		}
	default:
		return misuse("it is one of auto, json, console", "unknown log format %q", env.logFormat)
	}
	env.Log = zerolog.New(out).Level(parsed).With().Timestamp().Logger()
	return nil
}

// Config is the configuration of this host, read once.
func (env *Env) Config() (*config.Config, error) {
	if env.config != nil {
		return env.config, nil
	}
	path, err := config.Find(env.configPath, os.Getenv)
	if err != nil {
		return nil, err
	}
	env.config, err = config.Load(path)
	return env.config, err
}

// Host is this machine's name in owners and in the ledger, unless HEYAIRA_HOST gives
// another.
func (env *Env) Host() (string, error) {
	if host := os.Getenv("HEYAIRA_HOST"); host != "" {
		if strings.ContainsFunc(host, notInHost) || len(host) > 253 {
			return "", misuse("letters, digits, dot, hyphen and underscore", "HEYAIRA_HOST is not a host's name")
		}
		return host, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read host name: %w", err)
	}
	return host, nil
}

func notInHost(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_", r)
}

// ledgerOptions say which ledger the flag, the variable or the file names.
func (env *Env) ledgerOptions() (ledger.Options, error) {
	c, err := env.Config()
	if err != nil {
		return ledger.Options{}, err
	}
	host, err := env.Host()
	if err != nil {
		return ledger.Options{}, err
	}
	conninfo := env.ledger
	if conninfo == "" {
		if conninfo, err = c.Ledger.Conninfo(os.Getenv); err != nil {
			return ledger.Options{}, err
		}
	}
	return ledger.Options{
		Conninfo:    conninfo,
		Environment: c.Environment,
		Command:     env.command,
		Host:        host,
		Program:     programVersion(),
		Log:         env.Log,
	}, nil
}

// Ledger opens the ledger, which connects with its first statement. close is to be
// deferred.
func (env *Env) Ledger(ctx context.Context) (db *ledger.DB, close func(), err error) {
	options, err := env.ledgerOptions()
	if err != nil {
		return nil, nil, err
	}
	db = ledger.Open(options)
	return db, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			env.Log.Debug().Err(err).Msg("ledger connection did not close")
		}
	}, nil
}

// terminal tells whether a stream is one.
func terminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
