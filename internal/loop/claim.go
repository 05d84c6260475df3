package loop

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Claim leases eligible work, only of scopes in this host's configuration, under an
// owner of its own, and answers that of types that go first before the rest. It does
// not reclaim. An *UnknownError names a work type or scope that is not configured.
func Claim(ctx context.Context, db *ledger.DB, consumers []Consumer, o ClaimOptions) ([]lease.Item, error) {
	pairs, err := pick(consumers, o.WorkType, o.Scope)
	if err != nil {
		return nil, err
	}
	scopes, place := map[string][]string{}, map[string]int{}
	for _, p := range pairs {
		scopes[p.scope.WorkType] = append(scopes[p.scope.WorkType], p.scope.Key)
		if !p.consumer.Policy().First {
			place[p.scope.WorkType] = 1
		}
	}
	if _, err := db.Identity(ctx); err != nil {
		return nil, fmt.Errorf("ask ledger: %w", err)
	}
	items, err := db.Claim(ctx, lease.Request{Scopes: scopes, Limit: max(o.Limit, 1), Owner: lease.NewOwner(o.Host)})
	if err != nil {
		return nil, fmt.Errorf("claim work: %w", err)
	}
	slices.SortStableFunc(items, func(a, b lease.Item) int { return cmp.Compare(place[a.WorkType], place[b.WorkType]) })
	return items, nil
}

// Hand writes claimed items as lease documents, closed by an end line where framed.
// When the reader has gone, everything it did not start is given back; the error says
// so.
func Hand(ctx context.Context, db *ledger.DB, out io.Writer, items []lease.Item, framed bool) error {
	documents := &writer{out: out}
	err := documents.claimed(items)
	if err == nil && framed {
		err = documents.end("claim", StatusDone)
	}
	if err == nil || len(items) == 0 {
		return err
	}
	ctx, cancel := cleanup(ctx)
	defer cancel()
	holders := make([]lease.Holder, len(items))
	for i, item := range items {
		holders[i] = item.Holder
	}
	ended, failed := db.GiveBack(ctx, holders, nil)
	if failed != nil {
		return fmt.Errorf("%w; give back %d items: %w", err, len(items), failed)
	}
	return fmt.Errorf("%w; %d of %d items given back", err, len(ended), len(items))
}

func (w *writer) claimed(items []lease.Item) error {
	for _, item := range items {
		line, err := Document(item, "")
		if err != nil {
			return err
		}
		if err := w.write(line, &item.Holder); err != nil {
			return err
		}
	}
	return nil
}
