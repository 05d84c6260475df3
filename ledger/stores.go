package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// KnownStore answers the id (a UUID) of the store that the ledger remembers under name,
// and whether it remembers any.
func (db *DB) KnownStore(ctx context.Context, name string) (id string, known bool, err error) {
	err = db.ask(ctx, "known_store", func(rows pgx.Rows) error {
		known = true
		return rows.Scan(&id)
	}, name)
	return id, known, err
}

// RememberStore remembers that the store called name has this id (a UUID). A
// RefusedError says that the ledger remembers another.
func (db *DB) RememberStore(ctx context.Context, name, id string) error {
	var remembered string
	if err := db.ask(ctx, "remember_store", func(rows pgx.Rows) error { return rows.Scan(&remembered) }, name, id); err != nil {
		return err
	}
	if !strings.EqualFold(remembered, id) {
		return &RefusedError{
			Reason: fmt.Sprintf("store %s has id %s, the ledger knows it as %s", name, id, remembered),
			Hint:   "let the store in the configuration name the folder or bucket it named before, or give the new one a new name",
		}
	}
	return nil
}
