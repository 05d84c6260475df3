package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// Complete ends proven work and covers its scope by what run captured, unless
// something newer is covered (superseded). Evidence that the ledger cannot hold is an
// error of class permanent, and nothing was sent.
func (db *DB) Complete(ctx context.Context, proofs []lease.Proof) ([]lease.Ended, error) {
	if len(proofs) == 0 {
		return nil, nil
	}
	var h holders
	evidence := make([]string, 0, len(proofs))
	for _, one := range proofs {
		proof, err := storable(one.Evidence)
		if err != nil {
			return nil, lease.WithClass(lease.Permanent, fmt.Errorf("complete item %d: evidence: %w", one.Item, err))
		}
		h.add(one.Holder)
		evidence = append(evidence, proof)
	}
	var ended []lease.Ended
	err := db.ask(ctx, "complete", collect(&ended, scanCompleted), h.items, h.fences, h.owners, evidence)
	return ended, err
}

func scanCompleted(rows pgx.Rows) (lease.Ended, error) {
	var ended lease.Ended
	var word string
	err := rows.Scan(&ended.Item, &word)
	ended.Outcome = lease.Outcome(word)
	return ended, err
}
