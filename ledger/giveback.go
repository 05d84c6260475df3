package ledger

import (
	"context"

	"github.com/heyaira/heyaira-loop/lease"
)

// GiveBack hands interrupted work to the next beat and abandons the effects that its
// holder knows it did not fire.
func (db *DB) GiveBack(ctx context.Context, held []lease.Holder, unfired []string) ([]lease.Ended, error) {
	if len(held) == 0 {
		return nil, nil
	}
	if unfired == nil {
		unfired = []string{} // an array, not NULL
	}
	h := holdersOf(held)
	var ended []lease.Ended
	err := db.ask(ctx, "give_back", collect(&ended, scanEnded), h.items, h.fences, h.owners, unfired)
	return ended, err
}
