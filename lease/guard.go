package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// UnsettledError says that an effect may not fire, because it may have fired already:
// another attempt's intent is open, or nobody could say what became of it. The outside
// world has to be asked first.
type UnsettledError struct {
	Key   string
	Claim Claim
}

// Error names the effect and the fence of the attempt.
func (e *UnsettledError) Error() string {
	return fmt.Sprintf("claim effect %s: %s under fence %s, not settled", e.Key, e.Claim.State, e.Claim.Fence)
}

// Guard lets the outward actions of one hold fire at most once. It remembers what it
// claimed: what it knows not to have fired, and what may have fired and must not fire
// again unasked. Safe for concurrent use.
type Guard struct {
	effects Effects
	held    Holder

	mu      sync.Mutex
	permits map[string]*Permit // the newest of each key
}

// NewGuard guards the effects of a started item.
func NewGuard(effects Effects, held Holder) *Guard {
	return &Guard{effects: effects, held: held, permits: map[string]*Permit{}}
}

// Claim checks the fence and claims the right to fire one effect. There is a permit
// only where the claim's state is Claimed; otherwise the claim tells what stands in
// the way. ErrLost when the lease is gone.
func (g *Guard) Claim(ctx context.Context, intent Intent) (*Permit, Claim, error) {
	p := g.permit(intent)
	if p == nil {
		// The store would take this for a lost reply and let it fire a second time.
		return nil, Claim{State: Unknown, Item: g.held.Item, Fence: g.held.Fence, Target: intent.Target}, nil
	}
	claim, err := g.effects.Intend(ctx, g.held, intent)
	if err != nil {
		return nil, Claim{}, fmt.Errorf("claim effect %s: %w", intent.Key, err)
	}
	if claim.State != Claimed {
		g.set(p, settled)
		return nil, claim, nil
	}
	return p, claim, nil
}

// Once fires an effect if nobody has: it claims the intent, acts, and keeps the
// evidence. An effect that was committed before is not fired; its evidence is the
// answer. One that is not settled is an *UnsettledError of class Blocked.
func (g *Guard) Once(ctx context.Context, intent Intent, act func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	p, claim, err := g.Claim(ctx, intent)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		return p.Fire(ctx, act)
	case claim.State == Committed:
		return claim.Evidence, nil
	}
	return nil, WithClass(Blocked, &UnsettledError{intent.Key, claim})
}

// Settle records what the outside world said of the intent that stood in the way of a
// claim of the same key: Committed with its evidence, or Abandoned, or Unknown. It
// answers false when that intent is not dead, or has been settled by another.
func (g *Guard) Settle(ctx context.Context, key string, standing Claim, verdict EffectState, evidence json.RawMessage) (bool, error) {
	done, err := g.effects.Settle(ctx, key, standing.Fence, verdict, evidence)
	if err != nil {
		return false, fmt.Errorf("settle effect %s: %w", key, err)
	}
	return done, nil
}

// Unfired lists the keys that this guard claimed, or may have claimed, and knows that
// it did not fire: what Store.GiveBack may abandon.
func (g *Guard) Unfired() []string { return g.keys(unfired) }

// Open lists the keys that may have fired and whose end is not recorded. A reconciler
// will ask about them; work that leaves one open has not succeeded.
func (g *Guard) Open() []string { return g.keys(firing) }

// Abandon gives up everything that this guard claimed and did not fire, so that the
// next attempt need not ask about it. Use it before an attempt is failed.
func (g *Guard) Abandon(ctx context.Context) error {
	g.mu.Lock()
	var open []*Permit
	for _, p := range g.permits {
		if p.state == unfired {
			open = append(open, p)
		}
	}
	g.mu.Unlock()
	var errs []error
	for _, p := range open {
		errs = append(errs, p.Abandon(ctx))
	}
	return errors.Join(errs...)
}

// permit is the key's permit, the same one until it is used up; nil when the effect
// may have fired.
func (g *Guard) permit(intent Intent) *Permit {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.permits[intent.Key]
	if p == nil || p.state == settled {
		p = &Permit{guard: g, key: intent.Key}
		g.permits[intent.Key] = p
	}
	if p.state == firing {
		return nil
	}
	return p
}

// begin takes a permit that is still unused.
func (g *Guard) begin(p *Permit) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.state != unfired {
		return false
	}
	p.state = firing
	return true
}

func (g *Guard) set(p *Permit, state permitState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.state = state
}

func (g *Guard) keys(state permitState) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var keys []string
	for key, p := range g.permits {
		if p.state == state {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
