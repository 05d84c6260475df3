package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/tern/v2/migrate"
)

// Files are the migrations, forward only and never edited after a release.
//
//go:embed *.sql
var Files embed.FS

// statements are not migrations; tern must not see them.
//
//go:embed statements/*.sql
var statements embed.FS

const versionTable = "heyaira_loop.schema_version"

// insufficientPrivilege is the SQLSTATE of an act that the role may not do.
const insufficientPrivilege = "42501"

// Head is the schema version that this program brings a ledger to.
func Head() int {
	names, err := migrate.FindMigrations(Files)
	if err != nil {
		return 0 // the files are compiled in, and a test reads them
	}
	return len(names)
}

// Apply brings the database behind conn to head and answers the versions before and
// after. It makes the schema, writes the identity of a new ledger, and puts the
// settings that the ledger needs on the database where the role may. A
// RefusedError says that this database cannot be the ledger of environment. After
// an error nothing has changed.
func Apply(ctx context.Context, conn *pgx.Conn, environment string) (from, to int, err error) {
	if environment == "" {
		return 0, 0, errors.New("migrate ledger: environment is empty")
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("migrate ledger: %w", err)
	}
	from, to, err = apply(ctx, conn, environment)
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		abandon(ctx, conn)
		if denied(err) {
			err = &RefusedError{
				Reason: "role may not migrate this ledger",
				Hint:   "run heyaira-loop migrate as the role that owns the schema heyaira_loop",
				Err:    err,
			}
		}
		return 0, 0, fmt.Errorf("migrate ledger: %w", err)
	}
	return from, to, nil
}

func apply(ctx context.Context, conn *pgx.Conn, environment string) (from, to int, err error) {
	if err := execute(ctx, conn, "limits"); err != nil {
		return 0, 0, err
	}
	if err := execute(ctx, conn, "lock"); err != nil {
		return 0, 0, err
	}
	if err := prepare(ctx, conn); err != nil {
		return 0, 0, err
	}

	migrator, err := migrate.NewMigratorEx(ctx, conn, versionTable, &migrate.MigratorOptions{DisableTx: true})
	if err != nil {
		return 0, 0, fmt.Errorf("make version table: %w", err)
	}
	if err := migrator.LoadMigrations(Files); err != nil {
		return 0, 0, fmt.Errorf("load migrations: %w", err)
	}
	at, err := migrator.GetCurrentVersion(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	head := int32(len(migrator.Migrations))
	if at > head {
		return 0, 0, newer(int(at), int(head))
	}
	for next := at + 1; next <= head; next++ {
		if err := migrator.MigrateTo(ctx, next); err != nil {
			return 0, 0, fmt.Errorf("apply migration %d: %w", next, err)
		}
		// tern resets the session's settings after each.
		if err := execute(ctx, conn, "limits"); err != nil {
			return 0, 0, err
		}
	}
	if err := identify(ctx, conn, environment); err != nil {
		return 0, 0, err
	}
	if err := set(ctx, conn); err != nil {
		return 0, 0, err
	}
	return int(at), int(head), nil
}

// Pending answers the version that the database is at, 0 where it has no schema, and
// head. It changes nothing.
func Pending(ctx context.Context, conn *pgx.Conn) (at, head int, err error) {
	found, err := text("version_table")
	if err != nil {
		return 0, 0, err
	}
	var there bool
	if err := conn.QueryRow(ctx, found).Scan(&there); err != nil {
		return 0, 0, fmt.Errorf("find schema version: %w", err)
	}
	if !there {
		return 0, Head(), nil
	}
	version, err := text("version")
	if err != nil {
		return 0, 0, err
	}
	if err := conn.QueryRow(ctx, version).Scan(&at); err != nil {
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	return at, Head(), nil
}

// abandon ends a transaction that went wrong. tern takes a lock of the session as
// well and cannot give it back in a failed transaction; one message does both, so
// that a pooler cannot put another client's between them.
func abandon(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() {
		return // the server has rolled back
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := execute(ctx, conn, "abandon"); err != nil {
		// A session that is gone holds no lock; one that might is not used again.
		_ = conn.Close(ctx)
	}
}

// execute runs a file of statements in one simple message.
func execute(ctx context.Context, conn *pgx.Conn, name string) error {
	sql, err := text(name)
	if err != nil {
		return err
	}
	if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("execute %s: %w", name, err)
	}
	return nil
}

func text(name string) (string, error) {
	sql, err := statements.ReadFile("statements/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("read statement %s: %w", name, err)
	}
	return string(sql), nil
}

func denied(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == insufficientPrivilege
}

func newer(at, head int) error {
	return &RefusedError{
		Reason: fmt.Sprintf("ledger is at schema version %d, this program knows %d", at, head),
		Hint:   "install the newer heyaira-loop on this host",
	}
}
