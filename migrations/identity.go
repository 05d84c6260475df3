package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// oldest is the oldest server that the statements of the ledger run on.
const oldest = 140000

// prepare checks that the server can hold a ledger and makes the schema.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	sql, err := text("server")
	if err != nil {
		return err
	}
	var (
		version              int
		encoding             string
		database, role       string
		readOnly, there, own bool
	)
	err = conn.QueryRow(ctx, sql).Scan(&version, &encoding, &database, &role, &readOnly, &there, &own)
	if err != nil {
		return fmt.Errorf("look at server: %w", err)
	}
	quoted := pgx.Identifier{database}.Sanitize()
	switch {
	case version < oldest:
		return &RefusedError{
			Reason: fmt.Sprintf("ledger's server is PostgreSQL %d.%d", version/10000, version%10000),
			Hint:   "use PostgreSQL 14 or newer for the ledger",
		}
	case encoding != "UTF8":
		return &RefusedError{
			Reason: fmt.Sprintf("ledger's database has encoding %s", encoding),
			Hint:   "make the ledger's database with encoding UTF8: createdb -T template0 -E UTF8",
		}
	case readOnly:
		return &RefusedError{
			Reason: "ledger's server is read-only",
			Hint:   "let the ledger's conninfo name the primary",
		}
	case there:
		return nil
	case !own:
		return &RefusedError{
			Reason: fmt.Sprintf("role %s may not make a schema in the ledger's database", role),
			Hint:   fmt.Sprintf("GRANT CREATE ON DATABASE %s TO %s;", quoted, pgx.Identifier{role}.Sanitize()),
		}
	}
	return execute(ctx, conn, "schema")
}

// identify writes the identity of a new ledger and refuses one that is not this
// environment's, or not where it was.
func identify(ctx context.Context, conn *pgx.Conn, environment string) error {
	if err := run(ctx, conn, "identity", environment); err != nil {
		return err
	}
	sql, err := text("whose")
	if err != nil {
		return err
	}
	var stored string
	var same bool
	if err := conn.QueryRow(ctx, sql).Scan(&stored, &same); err != nil {
		return fmt.Errorf("read identity: %w", err)
	}
	if stored != environment {
		return &RefusedError{
			Reason: fmt.Sprintf("ledger belongs to environment %q, this host's is %q", stored, environment),
			Hint:   "let environment and ledger in the configuration name the same one",
		}
	}
	if !same {
		return &RefusedError{
			Reason: "this ledger was restored, cloned or moved",
			Hint:   "point the configuration at the true ledger, or at a new database for a new one",
		}
	}
	return nil
}

// Identify makes the fresh clone of a ledger's database a ledger of its own, with its
// settings. A ledger with history is refused: that it was cloned must show.
func Identify(ctx context.Context, conn *pgx.Conn, environment string) error {
	sql, err := text("renew")
	if err != nil {
		return err
	}
	tag, err := conn.Exec(ctx, sql, environment)
	if err != nil {
		return fmt.Errorf("identify ledger: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return &RefusedError{Reason: "this ledger has history"}
	}
	return set(ctx, conn)
}

func run(ctx context.Context, conn *pgx.Conn, name string, args ...any) error {
	sql, err := text(name)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("execute %s: %w", name, err)
	}
	return nil
}
