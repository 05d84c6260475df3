package lease

import (
	"context"
	"fmt"
	"time"
)

// errorSize bounds a kept reason, in characters.
const errorSize = 1000

// Fail ends an attempt badly.
func (m *Memory) Fail(ctx context.Context, failures []Failure) ([]Ended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var ended []Ended
	for _, f := range failures {
		w := m.held(f.Holder)
		if w == nil || f.Class == LostClass || f.Class == Refuted && w.Step != Verify {
			continue
		}
		ended = append(ended, m.fail(w, f))
	}
	return ended, nil
}

func (m *Memory) fail(w *memoryItem, f Failure) Ended {
	policy := m.policies[w.WorkType]
	reason := []rune(f.Reason)
	w.lastError = string(reason[:min(len(reason), errorSize)])
	wait := policy.backoff(w.failures)
	if f.Class == Blocked {
		wait = policy.BlockedWait
		w.claimsBase++ // nothing is charged, not even the claim
	} else {
		w.failures++
	}
	state, kind, outcome := stateQueued, "retried", Retried
	switch {
	case f.Class == Permanent:
		state, kind, outcome = stateFailed, "failed", Failed
	case f.Class != Blocked && w.failures >= policy.MaxFailures:
		state, kind, outcome = stateQuarantined, "quarantined", Quarantined
	case f.Class == Refuted:
		kind, outcome = "refuted", RefutedNow
	case f.Class == Blocked:
		outcome = BlockedWait
	}
	m.tell(w, kind, w.Owner, w.Fence, map[string]any{"class": f.Class, "error": w.lastError, "phase": w.Step})
	if f.Class == Refuted {
		m.burn(w)
	}
	return m.stop(w, state, outcome, m.now().Add(wait))
}

// burn drops a refuted result with its generation, whose publication can never be the
// good one, and starts over at run.
func (m *Memory) burn(w *memoryItem) {
	w.Step, w.Result = Run, Result{}
	if w.coalesces {
		w.Generation++
		w.DedupeKey = dedupeKey(w.Marker, w.Generation)
		scope := m.scope(w)
		scope.generation = max(scope.generation, w.Generation)
	}
}

// stop ends an attempt; work that is queued again waits until at.
func (m *Memory) stop(w *memoryItem, state string, outcome Outcome, at time.Time) Ended {
	m.free(w, state)
	if state != stateQueued {
		m.scope(w).streak++
		return Ended{Item: w.Item.Item, Outcome: outcome}
	}
	w.runAt = at.Truncate(time.Microsecond)
	return Ended{Item: w.Item.Item, Outcome: outcome, Again: w.runAt}
}

// GiveBack hands work back. The claim stays counted, so work that is interrupted for
// ever comes to an end.
func (m *Memory) GiveBack(ctx context.Context, held []Holder, unfired []string) ([]Ended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var ended []Ended
	for _, h := range held {
		w := m.held(h)
		if w == nil {
			continue
		}
		for _, key := range unfired {
			if e := m.effects[key]; e != nil && e.state == intentOpen && e.item == h.Item && e.fence == h.Fence {
				m.settle(key, e, Abandoned, nil)
			}
		}
		state, kind, outcome := stateQueued, "given_back", GivenBack
		if w.Claims-w.claimsBase >= m.policies[w.WorkType].MaxClaims {
			state, kind, outcome = stateQuarantined, "quarantined", Quarantined
			w.lastError = fmt.Sprintf("claimed %d times", w.Claims)
		}
		m.tell(w, kind, w.Owner, w.Fence, map[string]any{"began": !w.startedAt.IsZero(), "phase": w.Step})
		ended = append(ended, m.stop(w, state, outcome, w.runAt))
	}
	return ended, nil
}

// Reclaim takes expired leases back. An expiry absurdly far ahead, left by a clock
// that stepped, is pulled back to its longest legal value.
func (m *Memory) Reclaim(ctx context.Context, limit int) ([]Reclaimed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := m.now()
	var reclaimed []Reclaimed
	for _, w := range m.items {
		if w.state != stateLeased {
			continue
		}
		policy := m.policies[w.WorkType]
		if w.Until.After(now.Add(2 * policy.TTL)) {
			w.Until = now.Add(policy.TTL)
		}
		if w.Until.After(now) || len(reclaimed) == limit {
			continue
		}
		reclaimed = append(reclaimed, m.reclaim(w, policy))
	}
	return reclaimed, nil
}

// reclaim charges the crash only to work that had begun: a document that waited beside
// the one that killed the process is innocent.
func (m *Memory) reclaim(w *memoryItem, policy MemoryPolicy) Reclaimed {
	began := !w.startedAt.IsZero()
	at := m.now()
	if began {
		at = at.Add(policy.backoff(w.crashes))
		w.crashes++
	}
	state, kind, outcome := stateQueued, "reclaimed", GivenBack
	if began && w.crashes >= policy.MaxCrashes || w.Claims-w.claimsBase >= policy.MaxClaims {
		state, kind, outcome = stateQuarantined, "quarantined", Quarantined
		w.lastError = fmt.Sprintf("worker lost %d times, claimed %d times", w.crashes, w.Claims)
	}
	m.tell(w, kind, w.Owner, w.Fence, map[string]any{"began": began, "phase": w.Step})
	m.stop(w, state, outcome, at)
	return Reclaimed{Item: w.Item.Item, WorkType: w.WorkType, Scope: w.Scope, Outcome: outcome, Crashes: w.crashes}
}
