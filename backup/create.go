package backup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	//go:embed queries/create_database.sql
	createDatabaseSQL string
	//go:embed queries/drop_database.sql
	dropDatabaseSQL string
)

// dropWithin bounds the drop of a target that is not whole: its files may be many.
const dropWithin = time.Minute

// maintenance is the database from which others are created and dropped.
const maintenance = "postgres"

// locale is how a database compares text.
type locale struct {
	collate, ctype   string
	provider, locale string // of the provider, where it is not libc
}

// parseCollation reads a manifest's collation: LC_COLLATE, and where they differ from
// it ;ctype=LC_CTYPE and ;icu=LOCALE or ;builtin=LOCALE.
func parseCollation(text string) locale {
	parts := strings.Split(text, ";")
	l := locale{collate: parts[0], ctype: parts[0], provider: "libc"}
	for _, part := range parts[1:] {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "ctype":
			l.ctype = value
		case "icu", "builtin":
			l.provider, l.locale = key, value
		}
	}
	return l
}

// create makes the target with the encoding and the locale of the protected database.
func (d *destination) create(ctx context.Context, from ServerFacts) error {
	l := parseCollation(from.Collation)
	err := d.maintain(ctx, createDatabaseSQL, d.database, from.Encoding, l.collate, l.ctype, l.provider, l.locale)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "42P04":
		return advise(targetError(ctx, "create target", err), "restore into it without --create if it is empty, or choose another name")
	case err != nil:
		return targetError(ctx, "create target "+d.database, err)
	}
	return nil
}

// drop takes back what create made, also where ctx has ended.
func (d *destination) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
	defer cancel()
	if err := d.maintain(ctx, dropDatabaseSQL, d.database); err != nil {
		return fmt.Errorf("drop database %s, which is not whole: %w", d.database, err)
	}
	return nil
}

// maintain asks the server to write a statement, which quotes the names in it, and
// sends that.
func (d *destination) maintain(ctx context.Context, writer string, args ...any) error {
	conn, err := d.connect(ctx, maintenance)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn)
	var statement string
	if err := conn.QueryRow(ctx, writer, args...).Scan(&statement); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return err
}

// stillEmpty looks into the target once more, right before it is written.
func (d *destination) stillEmpty(ctx context.Context) error {
	return d.look(ctx, func(conn *pgx.Conn) error { return empty(ctx, conn, d.database) })
}

// tables counts what was restored.
func (d *destination) tables(ctx context.Context) (int64, error) {
	var count int64
	err := d.look(ctx, func(conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, tablesSQL).Scan(&count); err != nil {
			return targetError(ctx, "count tables", err)
		}
		return nil
	})
	return count, err
}

func (d *destination) look(ctx context.Context, at func(*pgx.Conn) error) error {
	conn, err := d.connect(ctx, "")
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn)
	return at(conn)
}
