package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
)

// trial proves or refutes one published backup from what its store holds.
type trial struct {
	hand  hand
	place *place
	scope string
	id    ID
	level string
	about reference
	now   func() time.Time // the ledger's clock
}

// Verify proves a run's result from the store alone, at the level that the scope's
// configuration asks for, and puts verified.json. Only what the store shows refutes;
// a store that is not there, or another one, is blocked.
func (c *Consumer) Verify(ctx context.Context, work *loop.Work, result lease.Result) (loop.Evidence, error) {
	b, err := c.backup(work.Scope)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	t := &trial{
		hand: work, scope: work.Scope, level: b.Verify,
		now: func() time.Time { return work.Now.Add(time.Since(asked)) },
	}
	return t.run(ctx, c.options.Store, result)
}

func (t *trial) run(ctx context.Context, open func(name string) (store.Store, error), result lease.Result) (loop.Evidence, error) {
	if err := json.Unmarshal(result.Data, &t.about); err != nil {
		return nil, lease.WithClass(lease.Permanent, fmt.Errorf("read result: %w", err))
	}
	id, err := ParseID(t.about.Backup)
	if err != nil {
		return nil, lease.WithClass(lease.Permanent, fmt.Errorf("read result: %w", err))
	}
	t.id = id
	st, err := open(t.about.Store)
	if err != nil {
		return nil, notThere(ctx, t.about.Store, err)
	}
	if t.place, err = enter(ctx, st, t.about.Store, t.hand); err != nil {
		return nil, err
	}
	if t.place.id != t.about.StoreID {
		return nil, refused(fmt.Sprintf("backup %s was published in another store than %s is now", t.about.Backup, t.about.Store),
			"let the name stand for the store that it stood for")
	}
	proven, err := t.prove(ctx)
	if doubt := (*refutation)(nil); errors.As(err, &doubt) {
		return nil, t.refute(ctx, doubt)
	}
	if err != nil {
		return nil, err
	}
	return t.confirm(ctx, proven)
}

// refutation is what the store shows against a backup.
type refutation struct{ reason string }

func (r *refutation) Error() string { return r.reason }

// prove compares the store with the manifest. Its error is a refutation only where the
// store answered and the answer was wrong.
func (t *trial) prove(ctx context.Context) (json.RawMessage, error) {
	switch _, err := t.place.store.Stat(ctx, t.id.key(t.scope, refutedName)); {
	case err == nil:
		return nil, &refutation{"it was refuted before"}
	case !errors.Is(err, store.ErrNotFound):
		return nil, notThere(ctx, t.place.name, err)
	}
	manifest, end, err := readManifest(ctx, t.place.store, t.scope, t.id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, &refutation{"its manifest is missing"}
	case errors.Is(err, errUnreadable):
		return nil, &refutation{"its manifest was changed or damaged"}
	case err != nil:
		return nil, notThere(ctx, t.place.name, err)
	case end != nil:
		return nil, &refutation{"its attempt was closed by " + end.By}
	case manifest.Digest != t.about.Digest:
		return nil, &refutation{"another manifest stands in its place"}
	}
	var total int64
	for _, object := range manifest.Objects {
		if err := t.proveObject(ctx, object); err != nil {
			return nil, err
		}
		total += object.Size
	}
	return json.Marshal(map[string]any{"bytes": total, "objects": len(manifest.Objects)})
}

func (t *trial) proveObject(ctx context.Context, object Object) error {
	key := t.id.key(t.scope, object.Key)
	info, err := t.place.store.Stat(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &refutation{object.Key + " is missing"}
	case err != nil:
		return notThere(ctx, t.place.name, err)
	case info.Size != object.Size:
		return &refutation{fmt.Sprintf("%s has %d bytes, the manifest says %d", object.Key, info.Size, object.Size)}
	}
	if t.level == levelSize {
		return nil
	}
	err = checkObject(ctx, t.place.store, key, object, func(n int64) { t.hand.Report("verify", n) })
	switch doubt := (*refutation)(nil); {
	case errors.Is(err, store.ErrNotFound):
		return &refutation{object.Key + " is missing"}
	case err != nil && !errors.As(err, &doubt):
		return notThere(ctx, t.place.name, err)
	}
	return err
}

// confirm puts verified.json and answers the evidence. It comes before the ledger's
// cover: a crash between leaves a verified backup, never a cover without proof.
func (t *trial) confirm(ctx context.Context, proven json.RawMessage) (loop.Evidence, error) {
	if err := t.hand.Check(ctx); err != nil {
		return nil, err
	}
	record := proof{
		Format: format, Backup: t.about.Backup, Manifest: t.about.Digest,
		Level: t.level, At: stamp(t.now()), Evidence: proven,
	}
	err := putRecord(ctx, t.place.store, t.id.key(t.scope, verifiedName), record)
	if err != nil && !errors.Is(err, store.ErrExists) {
		return nil, notThere(ctx, t.place.name, err)
	}
	return coverEvidence(t.about, t.level)
}

// coverEvidence is what the ledger keeps of a proof.
func coverEvidence(about reference, level string) (loop.Evidence, error) {
	text, err := json.Marshal(struct {
		reference
		Level string `json:"level"`
	}{about, level})
	if err != nil {
		return nil, fmt.Errorf("write evidence of backup %s: %w", about.Backup, err)
	}
	return text, nil
}

// refute puts refuted.json, so that no listing counts this backup any more. First it
// makes sure that the store is still the right one: what an unmounted folder lacks is
// no proof.
func (t *trial) refute(ctx context.Context, doubt *refutation) error {
	id, err := storeID(ctx, t.place.store)
	if errors.Is(err, store.ErrNotFound) || err == nil && id != t.place.id {
		return unreachable(fmt.Sprintf("reach store %s: %s went away meanwhile", t.place.name, t.place.store), "is the store mounted?", doubt)
	}
	if err != nil {
		return notThere(ctx, t.place.name, err)
	}
	if err := t.hand.Check(ctx); err != nil {
		return err
	}
	record := proof{
		Format: format, Backup: t.about.Backup, Manifest: t.about.Digest,
		Level: t.level, At: stamp(t.now()), Evidence: json.RawMessage("{}"), Reason: doubt.reason,
	}
	err = putRecord(ctx, t.place.store, t.id.key(t.scope, refutedName), record)
	if err != nil && !errors.Is(err, store.ErrExists) {
		return notThere(ctx, t.place.name, err)
	}
	return lease.WithClass(lease.Refuted, fmt.Errorf("verify backup %s: %w", t.about.Backup, doubt))
}
