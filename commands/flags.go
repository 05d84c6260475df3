package commands

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// common are the values of the flags that every command has. An empty flag counts as
// not given, as an empty variable does.
type common struct {
	configPath string
	ledger     string
	logLevel   string
	logFormat  string
	json       bool
}

// flags are the common flags. Their variables are read by settle and not by the cli
// package, which takes an empty one as given.
func (env *Env) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Destination: &env.configPath, Usage: "configuration `FILE` [$HEYAIRA_CONFIG]"},
		&cli.StringFlag{Name: "ledger", Destination: &env.ledger, Usage: "`CONNINFO` of the ledger, without a password [$HEYAIRA_LEDGER]"},
		&cli.StringFlag{Name: "log-level", Destination: &env.logLevel, Usage: "least `LEVEL` that is logged: debug, info, warn, error; default info on a terminal, else warn [$HEYAIRA_LOG_LEVEL]"},
		&cli.StringFlag{Name: "log-format", Destination: &env.logFormat, Usage: "`FORMAT` of the log: auto, json, console; with json errors are JSON too [$HEYAIRA_LOG_FORMAT]"},
		boolFlag("json", &env.json, "print everything, as JSON Lines"),
	}
}

// boolFlag is a flag that is off unless given; its help need not say so.
func boolFlag(name string, into *bool, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Destination: into, Usage: usage, DisableDefaultText: true}
}

// passwordWord finds a password in a conninfo of the form key=value.
var passwordWord = regexp.MustCompile(`(?i)(^|[\s'])(ssl)?password\s*=`)

// refusePassword refuses a conninfo that carries a password: everyone on the host can
// read a command line. The refusal does not repeat it.
func refusePassword(flag, conninfo string) error {
	const advice = "name a service (service=NAME) or leave the password to ~/.pgpass; the one that was typed stood in the process list"
	refusal := misuse(advice, "flag --%s: a conninfo on the command line must not hold a password", flag)
	if !strings.Contains(conninfo, "://") {
		if passwordWord.MatchString(conninfo) {
			return refusal
		}
		return nil
	}
	at, err := url.Parse(conninfo)
	if err != nil {
		return misuse("postgres://USER@HOST:PORT/DATABASE", "flag --%s: not a URL", flag)
	}
	if _, given := at.User.Password(); given || passwordWord.MatchString(strings.ReplaceAll(at.RawQuery, "&", " ")) {
		return refusal
	}
	return nil
}
