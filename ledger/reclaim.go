package ledger

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// Reclaim puts expired leases of every type back into the queue, or into quarantine at
// a ceiling, at most limit of them. It also pulls back leases and waits that a clock
// which stood wrong has put absurdly far ahead.
func (db *DB) Reclaim(ctx context.Context, limit int) ([]lease.Reclaimed, error) {
	var reclaimed []lease.Reclaimed
	err := db.send(ctx, repeatable,
		statement{name: "clamp", args: []any{limit}, fresh: func() { reclaimed = nil }},
		statement{name: "reclaim", args: []any{limit}, scan: collect(&reclaimed, scanReclaimed)})
	if err != nil {
		return nil, err
	}
	return reclaimed, nil
}

func scanReclaimed(rows pgx.Rows) (lease.Reclaimed, error) {
	var r lease.Reclaimed
	var word string
	err := rows.Scan(&r.Item, &r.WorkType, &r.Scope, &word, &r.Crashes)
	r.Outcome = lease.Outcome(word)
	return r, err
}
