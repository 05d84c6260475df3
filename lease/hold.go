package lease

import (
	"context"
	"errors"
	"time"
)

// errReleased is the cause of a context whose hold was released: the work is over.
var errReleased = errors.New("hold released")

// Hold is one lease in a keeper's care. Safe for concurrent use.
type Hold struct {
	keeper *Keeper
	cancel context.CancelCauseFunc

	// Below, everything is guarded by the keeper's lock.
	held   Progress
	ttl    time.Duration
	kept   Instant // when the call began that renewed last
	due    Instant // when to renew next
	ended  error   // ErrLost or errReleased
	checks []check
}

// check is a caller that waits for a renewal that began after its question.
type check struct {
	after  uint64 // the number of the last call that began before
	answer chan<- error
}

// Holder names the hold.
func (h *Hold) Holder() Holder {
	return h.held.Holder // never changes
}

// Report notes how far the work has come; the next renewal carries it. It is cheap
// enough for every block of bytes, and ends a hold whose time has passed unnoticed
// while the process was stopped.
func (h *Hold) Report(stage string, bytes int64) {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	h.held.Stage, h.held.Bytes = stage, bytes
	h.expire(h.keeper.now())
}

// Check renews now and answers nil when the store kept the lease: the fence is valid
// at this moment. A store that cannot be asked is asked again until the lease cannot
// be trusted any more (ErrLost) or ctx ends (its cause).
func (h *Hold) Check(ctx context.Context) error {
	answer, err := h.ask()
	if err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Release stops renewing and ends the hold's context; use it when a statement has
// ended the lease, or before the hold is replaced by a new one for the same item. The
// answer of a renewal that is under way is ignored then.
func (h *Hold) Release() {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	h.end(errReleased)
}

func (h *Hold) ask() (<-chan error, error) {
	k := h.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.ended != nil {
		return nil, h.ended
	}
	answer := make(chan error, 1) // its reader may have gone
	h.checks = append(h.checks, check{k.calls, answer})
	k.poke()
	return answer, nil
}

// wants is when the hold should be renewed next.
func (h *Hold) wants() Instant {
	if len(h.checks) > 0 {
		return 0
	}
	return h.due
}

// renewed notes that call number n, which began at asked, kept the lease. An answer
// that comes when its own trust is over renews nothing.
func (h *Hold) renewed(n uint64, asked, now Instant, ttl time.Duration) {
	if ttl > 0 {
		h.ttl = ttl
	}
	h.kept = asked
	h.due = asked.Add(h.ttl / 3)
	if h.expire(now); h.ended != nil {
		return
	}
	waiting := h.checks[:0]
	for _, c := range h.checks {
		if n > c.after {
			c.answer <- nil
		} else {
			waiting = append(waiting, c)
		}
	}
	h.checks = waiting
}

// expire ends a hold that was not renewed in time.
func (h *Hold) expire(now Instant) {
	if now >= h.trusted() {
		h.end(ErrLost)
	}
}

func (h *Hold) trusted() Instant { return h.kept.Add(trust(h.ttl)) }

// end takes the hold out of the keeper's care, once.
func (h *Hold) end(cause error) {
	if h.ended != nil {
		return
	}
	h.ended = cause
	delete(h.keeper.holds, h.held.Item)
	for _, c := range h.checks {
		c.answer <- cause
	}
	h.checks = nil
	h.cancel(cause)
	h.keeper.poke()
}
