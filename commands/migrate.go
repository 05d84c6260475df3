package commands

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/ledger"
	"github.com/heyaira/heyaira-loop/migrations"
)

func migrateCommand(env *Env) *cli.Command {
	var status bool
	return &cli.Command{
		Name:        "migrate",
		Usage:       "bring the ledger's database to this program's schema",
		Description: "Makes the schema heyaira_loop in the database that the ledger's conninfo names.\nThe database itself is made by hand: createdb -T template0 -E UTF8 NAME",
		Flags: []cli.Flag{
			boolFlag("status", &status, "print the schema's version and change nothing"),
		},
		Action: func(c *cli.Context) error {
			options, err := env.ledgerOptions()
			if err != nil {
				return err
			}
			conn, err := ledger.Connect(c.Context, options)
			if err != nil {
				return err
			}
			defer closeConnection(c.Context, conn)
			if status {
				return printSchema(c.Context, env, conn)
			}
			from, to, err := migrations.Apply(c.Context, conn, options.Environment)
			if err != nil {
				return err
			}
			lacking, err := migrations.Lacking(c.Context, conn)
			if err != nil {
				return err
			}
			for _, statement := range lacking {
				env.Log.Warn().Str("statement", statement).Msg("the database's owner has to run this")
			}
			if env.json {
				return env.printJSON(map[string]int{"from": from, "to": to})
			}
			switch {
			case from != to:
				return env.say("ledger is at schema version %d, it was at %d", to, from)
			case terminal(env.Out):
				return env.say("ledger is at schema version %d, nothing to do", to)
			}
			return nil
		},
	}
}

func printSchema(ctx context.Context, env *Env, conn *pgx.Conn) error {
	at, head, err := migrations.Pending(ctx, conn)
	if err != nil {
		return err
	}
	switch {
	case env.json:
		return env.printJSON(map[string]int{"at": at, "head": head})
	case at == 0:
		return env.say("ledger has no schema, this program needs version %d: heyaira-loop migrate", head)
	case at < head:
		return env.say("ledger is at schema version %d, this program needs %d: heyaira-loop migrate", at, head)
	case at > head:
		return env.say("ledger is at schema version %d, this program knows %d: install the newer heyaira-loop", at, head)
	}
	return env.say("ledger is at schema version %d, nothing to do", at)
}

// closeConnection ends a connection also after an interruption.
func closeConnection(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing is under way on it
}
