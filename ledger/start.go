package ledger

import (
	"context"

	"github.com/heyaira/heyaira-loop/lease"
)

// Start begins a step of held work under a new owner and answers what the rows say:
// of a document only item, fence, owner and step are believed. An item that is missing
// from the answer is lost. The same owner may ask again.
func (db *DB) Start(ctx context.Context, owner string, step lease.Step, held []lease.Holder) ([]lease.Item, error) {
	if len(held) == 0 {
		return nil, nil
	}
	h := holdersOf(held)
	var items []lease.Item
	err := db.ask(ctx, "start", collect(&items, scanItem), h.items, h.fences, h.owners, owner, string(step))
	return items, err
}
