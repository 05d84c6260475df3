package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// cleanUp bounds what is done after the work's context has ended: to abort an upload,
// to ask what became of a manifest.
const cleanUp = 10 * time.Second

// hand is what a step asks of the loop. *loop.Work is one.
type hand interface {
	memory
	Ticket(ctx context.Context) (lease.Serial, time.Time, error)
	Check(ctx context.Context) error
	Report(stage string, bytes int64)
}

// attempt is one try to publish one generation of a scope.
type attempt struct {
	item    lease.Item
	who     ledger.Identity
	guard   *lease.Guard
	hand    hand
	config  config.Backup
	program string
	open    func(name string) (store.Store, error)

	id     ID
	ticket lease.Serial
	began  time.Time // by the ledger's clock
	asked  time.Time // the same moment by this host's, for durations
}

// Run publishes a backup of a scope under a lease, or finds that an earlier attempt
// has: the publication's intent is claimed first, so that nobody dumps for an hour to
// learn that. What it fails with is transient unless it carries a class.
func (c *Consumer) Run(ctx context.Context, work *loop.Work) (lease.Result, error) {
	b, err := c.backup(work.Scope)
	if err != nil {
		return lease.Result{}, err
	}
	a := &attempt{
		item: work.Item, who: work.Ledger, guard: work.Guard, hand: work,
		config: b, program: c.options.Program, open: c.options.Store,
	}
	published, err := a.run(ctx)
	if err != nil {
		return lease.Result{}, err
	}
	return published.result()
}

func (a *attempt) run(ctx context.Context) (publication, error) {
	if err := a.draw(ctx); err != nil {
		return publication{}, err
	}
	permit, found, err := a.claim(ctx)
	if err != nil {
		return publication{}, err
	}
	if found != nil {
		return *found, nil
	}
	return a.publish(ctx, permit)
}

// draw takes the ticket, which has to be older than the marker, and with it the
// ledger's clock: a backup's name and its records carry no other.
func (a *attempt) draw(ctx context.Context) (err error) {
	a.asked = time.Now()
	if a.ticket, a.began, err = a.hand.Ticket(ctx); err != nil {
		return err
	}
	a.id, err = newID(a.began, a.who.ID, a.item.Generation, a.item.Fence)
	return err
}

// now is the ledger's clock, as far as this host can tell: what it said, and the time
// that has passed since.
func (a *attempt) now() time.Time { return a.began.Add(time.Since(a.asked)) }

// enter opens a store of the configuration and makes sure that it is the right one.
func (a *attempt) enter(ctx context.Context, name string) (*place, error) {
	st, err := a.open(name)
	if err != nil {
		return nil, notThere(ctx, name, err)
	}
	return enter(ctx, st, name, a.hand)
}

// lost tells whether the lease was lost, as err or as the end of ctx says.
func lost(ctx context.Context, err error) bool {
	return errors.Is(err, lease.ErrLost) || errors.Is(context.Cause(ctx), lease.ErrLost)
}

// then adds to err what went wrong while cleaning up after it; the class stays err's.
func then(err, cleaning error) error {
	if cleaning == nil {
		return err
	}
	return fmt.Errorf("%w; then %v", err, cleaning)
}

// surviving is a context for what has to be done although the work's has ended.
func surviving(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
}
