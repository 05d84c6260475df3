package commands

import (
	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/backup"
)

// restoreFlags are what restore was asked for.
type restoreFlags struct {
	scope, backup, from   string
	to, output, confirm   string
	identity              string
	list, create, dryRun  bool
	noOwner, noPrivileges bool
}

func restoreCommand(env *Env) *cli.Command {
	var f restoreFlags
	return &cli.Command{
		Name:  "restore",
		Usage: "get a backup back, from its store and the key alone",
		Description: "restore --scope S --list                           what there is\n" +
			"restore --scope S --to CONNINFO --identity FILE    into a new, empty database\n" +
			"restore --from FOLDER --output FILE …              without configuration and ledger",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "scope", Destination: &f.scope, Usage: "the backup of this `SCOPE`"},
			&cli.StringFlag{Name: "backup", Destination: &f.backup, Usage: "this backup `ID`; default the newest verified one"},
			&cli.StringFlag{Name: "from", Destination: &f.from, Usage: "read the store in `FOLDER`, without configuration and ledger"},
			boolFlag("list", &f.list, "show the backups that are there"),
			&cli.StringFlag{Name: "to", Destination: &f.to, Usage: "`CONNINFO` of the database to restore into, without a password"},
			boolFlag("create", &f.create, "make that database first"),
			&cli.StringFlag{Name: "confirm", Destination: &f.confirm, Usage: "`NAME` of the protected database, where it is itself restored into"},
			boolFlag("no-owner", &f.noOwner, "let everything belong to the role that restores"),
			boolFlag("no-privileges", &f.noPrivileges, "leave grants out"),
			&cli.StringFlag{Name: "output", Destination: &f.output, Usage: "write the archive, decrypted, to a new `FILE`, or to standard output with -"},
			&cli.StringFlag{Name: "identity", Destination: &f.identity, Usage: "`FILE` of the private key, or - for standard input"},
			boolFlag("dry-run", &f.dryRun, "look at everything, change nothing"),
		},
		Action: func(c *cli.Context) error {
			if err := f.check(env, c.IsSet); err != nil {
				return err
			}
			r := &restoring{env: env, flags: f}
			if f.list {
				return r.list(c.Context)
			}
			return r.restore(c.Context)
		},
	}
}

// check refuses what cannot go together, before anything is opened. A flag that was
// given and holds nothing is a script's unset variable: its default would be another
// backup or another store than was meant.
func (f *restoreFlags) check(env *Env, given func(flag string) bool) error {
	for flag, value := range map[string]string{"scope": f.scope, "backup": f.backup, "from": f.from, "to": f.to, "output": f.output, "confirm": f.confirm} {
		if value == "" && given(flag) {
			return misuse("leave the flag out, or say what it names", "flag --%s is empty", flag)
		}
	}
	if _, err := backup.ParseID(f.backup); err != nil && f.backup != "" {
		return misuse("--list shows the ids", "flag --backup: %v", err)
	}
	if err := refusePassword("to", f.to); err != nil {
		return err
	}
	switch {
	case count(f.list, f.to != "", f.output != "") != 1:
		return misuse("heyaira-loop restore --help shows examples", "want exactly one of --to, --output and --list")
	case f.scope == "" && f.from == "":
		return misuse("heyaira-loop status shows the scopes", "flag --scope is missing")
	case f.create && f.to == "":
		return misuse("", "flag --create goes with --to")
	case f.confirm != "" && f.to == "":
		return misuse("", "flag --confirm goes with --to")
	case f.list && f.backup != "":
		return misuse("", "flag --backup does not go with --list: it shows all of a scope")
	case f.list:
		return nil
	case f.identity == "":
		return misuse("name the file that age-keygen -o made, or - to read it from standard input", "flag --identity is missing")
	case f.identity == "-" && terminal(env.In):
		return misuse("a key that is typed stays on the screen: name its file", "flag --identity -: standard input is a terminal")
	case f.output == "-" && terminal(env.Out):
		return misuse("send it to pg_restore or into a file", "flag --output -: standard output is a terminal, and an archive is binary")
	}
	return nil
}
