package lease

import (
	"context"
	"encoding/json"
)

// Intend checks the fence and claims the right to fire one effect.
func (m *Memory) Intend(ctx context.Context, held Holder, intent Intent) (Claim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Claim{}, err
	}
	if err := mustBeJSON("target", intent.Target); err != nil {
		return Claim{}, err
	}
	w := m.held(held)
	if w == nil || w.startedAt.IsZero() {
		return Claim{}, ErrLost
	}
	e := m.effects[intent.Key]
	if e == nil {
		e = &memoryEffect{}
		m.effects[intent.Key] = e
	} else if mine := e.state == intentOpen && e.fence == held.Fence && e.owner == held.Owner; !mine && e.state != Abandoned {
		word := e.state
		if word == intentOpen {
			word = Held
		}
		return Claim{State: word, Item: e.item, Fence: e.fence, Target: e.target, Evidence: e.evidence}, nil
	}
	e.state, e.kind, e.target = intentOpen, intent.Kind, intent.Target
	e.item, e.fence, e.owner = held.Item, held.Fence, held.Owner
	e.tries++
	m.tell(w, "effect_claimed", held.Owner, held.Fence, map[string]any{"effect": intent.Key})
	return Claim{State: Claimed, Item: held.Item, Fence: held.Fence, Target: intent.Target}, nil
}

// Commit keeps the evidence of an effect that fired.
func (m *Memory) Commit(ctx context.Context, key string, fence Serial, evidence json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := mustBeJSON("evidence", evidence); err != nil {
		return err
	}
	e := m.effects[key]
	if e == nil || e.fence != fence {
		return ErrLost
	}
	if e.state == Committed {
		return nil
	}
	e.state, e.evidence = Committed, evidence
	m.tell(m.items[e.item-1], "effect_committed", "", fence, map[string]any{"effect": key, "evidence": evidence})
	return nil
}

// Abandon says that the holder did not fire.
func (m *Memory) Abandon(ctx context.Context, key string, fence Serial) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	e := m.effects[key]
	switch {
	case e == nil || e.fence != fence:
		return ErrLost
	case e.state == Abandoned:
		return nil
	case e.state != intentOpen:
		return ErrLost
	}
	m.settle(key, e, Abandoned, nil)
	return nil
}

// Settle records what the outside world said of a dead intent. Dead is a fact of rows:
// the item was taken back or has ended, or holds another fence.
func (m *Memory) Settle(ctx context.Context, key string, fence Serial, verdict EffectState, evidence json.RawMessage) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if verdict == Committed {
		if err := mustBeJSON("evidence", evidence); err != nil {
			return false, err
		}
	}
	e := m.effects[key]
	if e == nil || e.fence != fence || e.state != intentOpen && e.state != Unknown {
		return false, nil
	}
	if w := m.items[e.item-1]; w.state == stateLeased && w.Fence == fence {
		return false, nil
	}
	m.settle(key, e, verdict, evidence)
	return true, nil
}

func (m *Memory) settle(key string, e *memoryEffect, verdict EffectState, evidence json.RawMessage) {
	e.state = verdict
	if verdict == Committed {
		e.evidence = evidence
	}
	m.tell(m.items[e.item-1], "effect_settled", "", e.fence, map[string]any{"effect": key, "verdict": verdict})
}
