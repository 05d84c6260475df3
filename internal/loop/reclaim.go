package loop

import (
	"context"
	"fmt"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// reclaimBatch is how many leases one statement takes back.
const reclaimBatch = 500

// Reclaim puts the expired leases of every work type back into the queue, or into
// quarantine at a ceiling, and answers them.
func Reclaim(ctx context.Context, db *ledger.DB) ([]lease.Reclaimed, error) {
	if _, err := db.Identity(ctx); err != nil {
		return nil, fmt.Errorf("ask ledger: %w", err)
	}
	var all []lease.Reclaimed
	for {
		some, err := db.Reclaim(ctx, reclaimBatch)
		all = append(all, some...)
		if err != nil {
			return all, fmt.Errorf("reclaim leases: %w", err)
		}
		if len(some) < reclaimBatch {
			return all, nil
		}
	}
}
