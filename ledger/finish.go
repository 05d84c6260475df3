package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// Finish keeps what run found and hands the items on to verify under the same lease.
// A result that the ledger cannot hold is an error of class permanent, and nothing
// was sent.
func (db *DB) Finish(ctx context.Context, ran []lease.Finished) ([]lease.Kept, error) {
	if len(ran) == 0 {
		return nil, nil
	}
	var h holders
	results := make([]string, 0, len(ran))
	markers := make([]*string, 0, len(ran))
	tickets := make([]*int64, 0, len(ran))
	taken := make([]*time.Time, 0, len(ran))
	for _, one := range ran {
		result, err := storable(one.Result.Data)
		if err != nil {
			return nil, lease.WithClass(lease.Permanent, fmt.Errorf("finish item %d: result: %w", one.Item, err))
		}
		var marker *string
		var ticket *int64
		var at *time.Time
		if one.Result.Ticket != 0 {
			number := int64(one.Result.Ticket)
			marker, ticket, at = &one.Result.Marker, &number, &one.Result.TakenAt
		}
		h.add(one.Holder)
		results = append(results, result)
		markers = append(markers, marker)
		tickets = append(tickets, ticket)
		taken = append(taken, at)
	}
	var kept []lease.Kept
	err := db.ask(ctx, "finish", collect(&kept, scanKept), h.items, h.fences, h.owners, results, markers, tickets, taken)
	return kept, err
}
