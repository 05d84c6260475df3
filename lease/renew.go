package lease

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// lookEvery bounds a sleep: timers stand still while the machine is suspended, so
	// the boot clock is looked at this often.
	lookEvery = time.Second
	// callLimit bounds one renewing call (a sixth of the TTL where that is less), so
	// that a dead connection is given up while there is time to use another.
	callLimit = 15 * time.Second
	// firstPause and longestPause bound the wait after a call that failed (a twelfth
	// of the TTL where that is less).
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
)

// call is one renewing call and its answer.
type call struct {
	number uint64
	asked  Instant
	limit  time.Duration
	holds  []*Hold
	held   []Progress
	kept   []Kept
	err    error
}

// tend renews and ends holds until there are none. The clock is watched also while a
// call is under way: an answer that does not come lengthens no trust.
func (k *Keeper) tend(ctx context.Context, tended chan<- struct{}) {
	defer close(tended)
	answers := make(chan *call, 1)
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	calling := false
	for {
		next, wait, over := k.look(calling)
		if over {
			return
		}
		if next != nil {
			calling = true
			go func() {
				ctx, cancel := context.WithTimeout(ctx, next.limit)
				defer cancel()
				next.kept, next.err = k.store.Renew(ctx, next.held)
				answers <- next
			}()
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-k.wake:
		case done := <-answers:
			calling = false
			k.settle(done)
		}
	}
}

// look ends what cannot be trusted any more and tells what is to be done: a call to
// make, how long to sleep, or that nothing is left.
func (k *Keeper) look(calling bool) (next *call, wait time.Duration, over bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, h := range k.holds {
		h.expire(now)
	}
	if len(k.holds) == 0 {
		if calling {
			return nil, lookEvery, false
		}
		k.stop()
		k.tended = nil
		return nil, 0, true
	}
	wake := now.Add(lookEvery)
	wanted := wake
	for _, h := range k.holds {
		wake = min(wake, h.trusted())
		wanted = min(wanted, h.wants())
	}
	switch wanted = max(wanted, k.pause); {
	case calling:
	case wanted <= now:
		next = k.begin(now)
	default:
		wake = min(wake, wanted)
	}
	return next, wake.Sub(now), false
}

// begin makes a call for everything that is held.
func (k *Keeper) begin(now Instant) *call {
	k.calls++
	next := &call{number: k.calls, asked: now, limit: min(callLimit, k.shortest()/6)}
	for _, h := range k.holds {
		next.holds = append(next.holds, h)
	}
	slices.SortFunc(next.holds, func(a, b *Hold) int { return cmp.Compare(a.held.Item, b.held.Item) })
	for _, h := range next.holds {
		next.held = append(next.held, h.held)
	}
	return next
}

// settle takes a call's answer. A call that failed says nothing of any lease: it is
// made again after a pause. A hold that has ended meanwhile stays ended.
func (k *Keeper) settle(done *call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if done.err != nil {
		longest := min(longestPause, k.shortest()/12)
		pause := min(longest, firstPause<<min(k.failures, 8))
		k.failures++
		k.pause = now.Add(pause/2 + rand.N(pause/2+1))
		return
	}
	k.failures, k.pause = 0, 0
	kept := make(map[int64]Kept, len(done.kept))
	for _, one := range done.kept {
		kept[one.Item] = one
	}
	for _, h := range done.holds {
		if one, ok := kept[h.held.Item]; ok {
			h.renewed(done.number, done.asked, now, one.TTL)
		} else {
			h.end(ErrLost)
		}
	}
}

// shortest is the least TTL of what is held, callLimit where nothing is.
func (k *Keeper) shortest() time.Duration {
	least := time.Duration(0)
	for _, h := range k.holds {
		if least == 0 || h.ttl < least {
			least = h.ttl
		}
	}
	if least == 0 {
		return callLimit
	}
	return least
}
