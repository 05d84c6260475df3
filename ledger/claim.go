package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

var (
	_ lease.Store   = (*DB)(nil)
	_ lease.Effects = (*DB)(nil)
)

// Claim leases eligible work of every type in the request, up to its limit of each,
// types that go first before the others. Caps are exact: the type's row is locked by
// one statement and its leases are counted by the next. The same owner may ask again
// when a reply was lost: what it holds and has not started is answered once more.
func (db *DB) Claim(ctx context.Context, request lease.Request) ([]lease.Item, error) {
	types := slices.Sorted(maps.Keys(request.Scopes))
	if len(types) == 0 || request.Limit <= 0 {
		return nil, nil
	}
	var items []lease.Item
	first := map[string]bool{}
	lock := statement{
		name:  "claim_lock",
		args:  []any{types},
		fresh: func() { items = nil },
		scan: func(rows pgx.Rows) error {
			var name string
			var goesFirst bool
			if err := rows.Scan(&name, &goesFirst); err != nil {
				return err
			}
			first[name] = goesFirst
			return nil
		},
	}
	statements := []statement{lock}
	for _, name := range types {
		statements = append(statements, statement{
			name: "claim",
			args: []any{name, request.Scopes[name], request.Limit, request.Owner},
			scan: collect(&items, scanItem),
		})
	}
	if err := db.send(ctx, repeatable, statements...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(items, func(a, b lease.Item) int { return cmp.Compare(rank(first[a.WorkType]), rank(first[b.WorkType])) })
	return items, nil
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}
