package lease_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
)

// twin is a memory with one thing broken: whichever of its functions is set.
type twin struct {
	*lease.Memory
	holder   func(lease.Holder) lease.Holder // what it takes a caller for
	claim    func(context.Context, lease.Request) ([]lease.Item, error)
	start    func(context.Context, string, lease.Step, []lease.Holder) ([]lease.Item, error)
	renew    func(context.Context, []lease.Progress) ([]lease.Kept, error)
	finish   func(context.Context, []lease.Finished) ([]lease.Kept, error)
	fail     func(context.Context, []lease.Failure) ([]lease.Ended, error)
	giveBack func(context.Context, []lease.Holder, []string) ([]lease.Ended, error)
	intend   func(context.Context, lease.Holder, lease.Intent) (lease.Claim, error)
	commit   func(context.Context, string, lease.Serial, json.RawMessage) error
	settle   func(context.Context, string, lease.Serial, lease.EffectState, json.RawMessage) (bool, error)
}

func whole(h memory) *twin {
	m := h.m
	return &twin{
		Memory: m, holder: func(h lease.Holder) lease.Holder { return h },
		claim: m.Claim, start: m.Start, renew: m.Renew, finish: m.Finish, fail: m.Fail,
		giveBack: m.GiveBack, intend: m.Intend, commit: m.Commit, settle: m.Settle,
	}
}

func (t *twin) Claim(ctx context.Context, r lease.Request) ([]lease.Item, error) {
	return t.claim(ctx, r)
}

func (t *twin) Start(ctx context.Context, owner string, step lease.Step, held []lease.Holder) ([]lease.Item, error) {
	return t.start(ctx, owner, step, held)
}

func (t *twin) Renew(ctx context.Context, held []lease.Progress) ([]lease.Kept, error) {
	for i := range held {
		held[i].Holder = t.holder(held[i].Holder)
	}
	return t.renew(ctx, held)
}

func (t *twin) Finish(ctx context.Context, ran []lease.Finished) ([]lease.Kept, error) {
	return t.finish(ctx, ran)
}

func (t *twin) Fail(ctx context.Context, failures []lease.Failure) ([]lease.Ended, error) {
	return t.fail(ctx, failures)
}

func (t *twin) GiveBack(ctx context.Context, held []lease.Holder, unfired []string) ([]lease.Ended, error) {
	return t.giveBack(ctx, held, unfired)
}

func (t *twin) Intend(ctx context.Context, held lease.Holder, intent lease.Intent) (lease.Claim, error) {
	return t.intend(ctx, held, intent)
}

func (t *twin) Commit(ctx context.Context, key string, fence lease.Serial, evidence json.RawMessage) error {
	return t.commit(ctx, key, fence, evidence)
}

func (t *twin) Settle(ctx context.Context, key string, fence lease.Serial, verdict lease.EffectState, evidence json.RawMessage) (bool, error) {
	return t.settle(ctx, key, fence, verdict, evidence)
}

func doubling(h memory) leasetest.Handle {
	t := whole(h)
	var mu sync.Mutex
	var last []lease.Item
	t.claim = func(ctx context.Context, r lease.Request) ([]lease.Item, error) {
		mu.Lock()
		defer mu.Unlock()
		items, err := h.m.Claim(ctx, r)
		if len(items) == 0 {
			return last, err
		}
		last = items
		return items, err
	}
	return t
}

func capless(h memory) leasetest.Handle {
	t := whole(h)
	t.claim = func(ctx context.Context, r lease.Request) ([]lease.Item, error) {
		for workType := range r.Scopes {
			h.m.Allow(workType, lease.MemoryPolicy{Coalesces: true})
		}
		return h.m.Claim(ctx, r)
	}
	return t
}

func restarting(h memory) leasetest.Handle {
	t := whole(h)
	t.start = func(ctx context.Context, owner string, step lease.Step, held []lease.Holder) ([]lease.Item, error) {
		if row := h.m.Look(held[0].Item); row.Started && row.Step == step {
			owner = row.Owner // taken for the same one
		}
		return h.m.Start(ctx, owner, step, held)
	}
	return t
}

func immortal(h memory) leasetest.Handle {
	t := whole(h)
	t.holder = func(held lease.Holder) lease.Holder {
		if row := h.m.Look(held.Item); row.State == "leased" && row.Until.Before(h.m.Clock()) {
			h.MoveLease(nil, held.Item, time.Minute)
		}
		return held
	}
	return t
}

func ownerless(h memory) leasetest.Handle {
	t := whole(h)
	t.holder = func(held lease.Holder) lease.Holder {
		if row := h.m.Look(held.Item); row.Fence == held.Fence {
			held.Owner = row.Owner
		}
		return held
	}
	return t
}

func fenceless(h memory) leasetest.Handle {
	t := whole(h)
	t.holder = func(held lease.Holder) lease.Holder {
		if row := h.m.Look(held.Item); row.Owner == held.Owner {
			held.Fence = row.Fence
		}
		return held
	}
	return t
}

func generous(h memory) leasetest.Handle {
	t := whole(h)
	t.renew = func(ctx context.Context, held []lease.Progress) ([]lease.Kept, error) {
		_, err := h.m.Renew(ctx, held)
		var kept []lease.Kept
		for _, p := range held {
			kept = append(kept, lease.Kept{Item: p.Item})
		}
		return kept, err
	}
	return t
}

func eager(h memory) leasetest.Handle {
	t := whole(h)
	t.claim = func(ctx context.Context, r lease.Request) ([]lease.Item, error) {
		items, err := h.m.Claim(ctx, r)
		for _, item := range items {
			if _, err := h.m.Start(ctx, item.Owner, item.Step, []lease.Holder{item.Holder}); err != nil {
				return nil, err
			}
		}
		return items, err
	}
	return t
}

// relabelling takes every failure for a transient one.
func relabelling(h memory) leasetest.Handle {
	t := whole(h)
	t.fail = func(ctx context.Context, failures []lease.Failure) ([]lease.Ended, error) {
		for i := range failures {
			failures[i].Class = lease.Transient
		}
		return h.m.Fail(ctx, failures)
	}
	return t
}

func reordering(h memory) leasetest.Handle {
	t := whole(h)
	t.finish = func(ctx context.Context, ran []lease.Finished) ([]lease.Kept, error) {
		for i := range ran {
			ran[i].Result.Ticket = h.m.Draw()
		}
		return h.m.Finish(ctx, ran)
	}
	return t
}

func trigger(h memory) leasetest.Handle {
	t := whole(h)
	t.intend = func(ctx context.Context, held lease.Holder, intent lease.Intent) (lease.Claim, error) {
		claim, err := h.m.Intend(ctx, held, intent)
		claim.State = lease.Claimed
		return claim, err
	}
	return t
}

func strict(h memory) leasetest.Handle {
	t := whole(h)
	t.commit = func(ctx context.Context, key string, fence lease.Serial, evidence json.RawMessage) error {
		e, _ := h.m.Effect(key)
		if row := h.m.Look(e.Item); row.State != "leased" || row.Fence != fence {
			return lease.ErrLost
		}
		return h.m.Commit(ctx, key, fence, evidence)
	}
	return t
}

func silent(h memory) leasetest.Handle {
	t := whole(h)
	t.commit = func(ctx context.Context, key string, fence lease.Serial, evidence json.RawMessage) error {
		if e, there := h.m.Effect(key); !there || e.Fence != fence {
			return nil
		}
		return h.m.Commit(ctx, key, fence, evidence)
	}
	return t
}

func clinging(h memory) leasetest.Handle {
	t := whole(h)
	t.giveBack = func(ctx context.Context, held []lease.Holder, _ []string) ([]lease.Ended, error) {
		return h.m.GiveBack(ctx, held, nil)
	}
	return t
}

func hasty(h memory) leasetest.Handle {
	t := whole(h)
	t.settle = func(ctx context.Context, key string, fence lease.Serial, verdict lease.EffectState, evidence json.RawMessage) (bool, error) {
		if e, there := h.m.Effect(key); there && e.State == "intent" {
			h.MoveLease(nil, e.Item, -time.Second)
			if _, err := h.m.Reclaim(ctx, 100); err != nil {
				return false, err
			}
		}
		return h.m.Settle(ctx, key, fence, verdict, evidence)
	}
	return t
}
