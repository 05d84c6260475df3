package lease

import (
	"context"
	"sync"
)

// Renewer is what a keeper needs of a Store.
type Renewer interface {
	Renew(ctx context.Context, held []Progress) ([]Kept, error)
}

// Keeper renews the leases of a process, all in one call, and ends the work of those
// that can no longer be trusted. Safe for concurrent use. It runs one goroutine while
// it holds anything.
type Keeper struct {
	store Renewer
	now   func() Instant

	wake chan struct{} // of one place: look again

	mu       sync.Mutex
	holds    map[int64]*Hold // by item
	calls    uint64          // renewing calls begun
	failures int             // of them, failed in a row
	pause    Instant         // no call before it
	tended   chan struct{}   // closed when the goroutine has ended; nil while there is none
	stop     context.CancelFunc
	closed   bool
}

// KeeperOptions has a working zero value.
type KeeperOptions struct {
	Now func() Instant // the boot clock when nil
}

// NewKeeper keeps leases of one store.
func NewKeeper(store Renewer, o KeeperOptions) *Keeper {
	if o.Now == nil {
		o.Now = Now
	}
	return &Keeper{
		store: store,
		now:   o.Now,
		wake:  make(chan struct{}, 1),
		holds: map[int64]*Hold{},
		stop:  func() {},
	}
}

// Hold keeps an item whose lease was drawn or renewed by a call that began at asked
// (Claim's or Start's). The context ends with cause ErrLost when the lease is lost or
// has not been renewed for TTL - TTL/6. An item that this process holds already is
// lost at once: the same document was read twice.
func (k *Keeper) Hold(ctx context.Context, item Item, asked Instant) (context.Context, *Hold) {
	return k.hold(ctx, item, asked, asked.Add(item.TTL/3))
}

// Park keeps an item that waits for its turn and whose lease was drawn elsewhere, at an
// unknown time: it is renewed at once. Release it before it is started.
func (k *Keeper) Park(ctx context.Context, item Item) (context.Context, *Hold) {
	now := k.now()
	return k.hold(ctx, item, now, now)
}

// Close releases every hold, ends a call that is under way, and waits for both.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	for _, h := range k.holds {
		h.end(errReleased)
	}
	k.stop()
	tended := k.tended
	k.mu.Unlock()
	if tended != nil {
		<-tended
	}
}

func (k *Keeper) hold(ctx context.Context, item Item, kept, due Instant) (context.Context, *Hold) {
	work, cancel := context.WithCancelCause(ctx)
	h := &Hold{
		keeper: k,
		cancel: cancel,
		held:   Progress{Holder: item.Holder},
		ttl:    item.TTL,
		kept:   kept,
		due:    due,
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, twice := k.holds[item.Item]; twice || k.closed {
		h.ended = ErrLost
		cancel(ErrLost)
		return work, h
	}
	k.holds[item.Item] = h
	if k.tended == nil {
		// Renewals go on while interrupted work is wound down, so their context
		// survives the caller's.
		base, stop := context.WithCancel(context.WithoutCancel(ctx))
		k.tended, k.stop = make(chan struct{}), stop
		go k.tend(base, k.tended)
	}
	k.poke()
	return work, h
}

// poke makes the goroutine look again.
func (k *Keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}
