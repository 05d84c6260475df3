package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Lacking answers what the owner of the ledger's database has to run, because the role
// that migrates may not: settings that every session of the ledger needs.
func Lacking(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	missing, err := settings(ctx, conn)
	if err != nil {
		return nil, err
	}
	lacking := make([]string, len(missing))
	for i, one := range missing {
		lacking[i] = one.Statement + ";"
	}
	return lacking, nil
}

// set puts on the database what it lacks, where the role may.
func set(ctx context.Context, conn *pgx.Conn) error {
	missing, err := settings(ctx, conn)
	if err != nil {
		return err
	}
	for _, one := range missing {
		if !one.Allowed {
			continue
		}
		if _, err := conn.Exec(ctx, one.Statement); err != nil {
			return fmt.Errorf("set up database: %w", err)
		}
	}
	return nil
}

type setting struct {
	Statement string
	Allowed   bool
}

func settings(ctx context.Context, conn *pgx.Conn) ([]setting, error) {
	sql, err := text("settings")
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	missing, err := pgx.CollectRows(rows, pgx.RowToStructByPos[setting])
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return missing, nil
}
