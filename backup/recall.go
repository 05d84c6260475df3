package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/ledger"
)

var (
	_ loop.Consumer = (*Consumer)(nil)
	_ loop.Recaller = (*Consumer)(nil)
)

// Recall answers what the store's newest verified backup of a scope covers, nil where
// there is none. It counts only backups of this ledger, by its present id or one that
// it had before, and only where the scope belongs to it; a scope of another ledger is
// refused. A store that is not there is an error and never an empty one.
func (c *Consumer) Recall(ctx context.Context, scope string, who ledger.Identity) (*ledger.Cover, error) {
	b, err := c.backup(scope)
	if err != nil {
		return nil, err
	}
	st, err := c.options.Store(b.Store)
	if err != nil {
		return nil, notThere(ctx, b.Store, err)
	}
	number, last, err := lastOwner(ctx, st, scope)
	switch {
	case err != nil:
		return nil, notThere(ctx, b.Store, err)
	case number == 0:
		return nil, nil
	case !ours(who, last.Ledger):
		return nil, otherLedger(scope, b.Store, last)
	}
	id, err := storeID(ctx, st)
	if errors.Is(err, store.ErrNotFound) {
		return nil, unreachable(fmt.Sprintf("reach store %s: %s has backups of %s and no %s", b.Store, st, scope, storeKey),
			"is the store mounted as a whole?", err)
	}
	if err != nil {
		return nil, notThere(ctx, b.Store, err)
	}
	entries, err := scan(ctx, st, scope)
	if err != nil {
		return nil, notThere(ctx, b.Store, err)
	}
	p := &place{store: st, name: b.Store, id: id}
	for _, e := range entries {
		manifest, seen, err := proven(ctx, st, scope, e)
		if err != nil {
			return nil, notThere(ctx, b.Store, err)
		}
		if manifest == nil || !ours(who, manifest.Ledger) {
			continue
		}
		evidence, err := coverEvidence(publicationOf(p, manifest, e.ID).reference, seen.Level)
		if err != nil {
			return nil, err
		}
		return &ledger.Cover{
			WorkType:   WorkType,
			Scope:      scope,
			Generation: manifest.Generation,
			Marker:     string(manifest.Marker),
			TakenAt:    manifest.TakenAt.Time,
			Fence:      manifest.Fence,
			Evidence:   json.RawMessage(evidence),
		}, nil
	}
	return nil, nil
}
