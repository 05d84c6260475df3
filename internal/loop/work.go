package loop

import (
	"context"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Work is one item in a consumer's hands.
type Work struct {
	lease.Item
	// Ledger is who the ledger is.
	Ledger ledger.Identity
	// Guard fires outward effects at most once, under this item's fence.
	Guard *lease.Guard

	db     *ledger.DB
	hold   *lease.Hold
	report func(stage string, bytes int64)
}

// Ticket draws the number that orders what is read after it, and answers the ledger's
// clock. Draw it before the marker is read.
func (w *Work) Ticket(ctx context.Context) (lease.Serial, time.Time, error) {
	return w.db.Ticket(ctx)
}

// Check asks the ledger whether the fence is valid at this moment; lease.ErrLost where
// it is not. Ask before every act that another holder could do too.
func (w *Work) Check(ctx context.Context) error { return w.hold.Check(ctx) }

// Report says how far the work has come: stage is a word, bytes only grows within it.
// It is cheap, so it may be called for every block; work that reports nothing new for
// its stall time is ended.
func (w *Work) Report(stage string, bytes int64) { w.report(stage, bytes) }

// Knows tells whether the ledger's receipts of an item hold a digest.
func (w *Work) Knows(ctx context.Context, item int64, digest string) (bool, error) {
	return w.db.Knows(ctx, item, digest)
}

// KnownStore answers the id of a store that the ledger remembers by name.
func (w *Work) KnownStore(ctx context.Context, name string) (id string, known bool, err error) {
	return w.db.KnownStore(ctx, name)
}

// RememberStore keeps the id of a store.
func (w *Work) RememberStore(ctx context.Context, name, id string) error {
	return w.db.RememberStore(ctx, name, id)
}
