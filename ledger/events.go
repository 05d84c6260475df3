package ledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// Event is one receipt. Each digest covers the one before it in its chain.
type Event struct {
	Item   int64
	No     int
	At     time.Time
	Kind   string
	Owner  string       // "" where nobody held the item
	Fence  lease.Serial // 0 where nobody held the item
	Detail json.RawMessage
	Digest string
}

// Events answers the receipts of one item, oldest first; item 0 is the ledger itself.
func (db *DB) Events(ctx context.Context, item int64) ([]Event, error) {
	var events []Event
	err := db.ask(ctx, "events", func(rows pgx.Rows) error {
		var e Event
		var detail *string
		if err := rows.Scan(&e.Item, &e.No, &e.At, &e.Kind, &e.Owner, &e.Fence, &detail, &e.Digest); err != nil {
			return err
		}
		e.Detail = document(detail)
		events = append(events, e)
		return nil
	}, item)
	return events, err
}

// Knows tells whether item has a receipt of this digest: a manifest that names one
// which the ledger does not know was written by another, or by one that was rewound.
func (db *DB) Knows(ctx context.Context, item int64, digest string) (bool, error) {
	var knows bool
	err := db.ask(ctx, "knows", func(rows pgx.Rows) error { return rows.Scan(&knows) }, item, digest)
	return knows, err
}
