package lease

import (
	"context"
	"fmt"
	"time"
)

// Start begins a step once.
func (m *Memory) Start(ctx context.Context, owner string, step Step, held []Holder) ([]Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var started []Item
	for _, h := range held {
		w := m.leased(h.Item, h.Fence)
		if w == nil || w.Step != step {
			continue
		}
		fresh := w.Owner == h.Owner && w.startedAt.IsZero()
		if !fresh && w.Owner != owner {
			continue
		}
		w.Owner = owner
		w.startedAt = or(w.startedAt, m.now())
		m.extend(w)
		started = append(started, m.shown(w))
	}
	return started, nil
}

// Renew extends leases and notes progress.
func (m *Memory) Renew(ctx context.Context, held []Progress) ([]Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var kept []Kept
	for _, p := range held {
		if w := m.held(p.Holder); w != nil {
			w.progress = p
			kept = append(kept, m.extend(w))
		}
	}
	return kept, nil
}

// Finish ends run. Like the ledger's statement it refuses all where one result of
// work that covers does not say what it captured.
func (m *Memory) Finish(ctx context.Context, ran []Finished) ([]Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ready := make([]*memoryItem, len(ran))
	for i, f := range ran {
		if err := mustBeJSON("result", f.Result.Data); err != nil {
			return nil, err
		}
		w := m.held(f.Holder)
		if w == nil || w.Step != Run || w.startedAt.IsZero() {
			continue
		}
		if r := f.Result; w.coalesces && (r.Ticket == 0 || r.TakenAt.IsZero()) {
			return nil, fmt.Errorf("finish item %d: %w", f.Item, errUncovering)
		}
		ready[i] = w
	}
	var kept []Kept
	for i, w := range ready {
		if w == nil || w.Step != Run {
			continue
		}
		w.Step, w.Result = Verify, ran[i].Result
		w.startedAt = time.Time{}
		kept = append(kept, m.extend(w))
		m.tell(w, "ran", w.Owner, w.Fence, w.Result.Data)
	}
	return kept, nil
}

// Complete ends verify. What is covered is what run captured and the store kept; a
// capture that is older than the cover leaves it alone.
func (m *Memory) Complete(ctx context.Context, proofs []Proof) ([]Ended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, p := range proofs {
		if err := mustBeJSON("evidence", p.Evidence); err != nil {
			return nil, err
		}
	}
	var ended []Ended
	for _, p := range proofs {
		w := m.held(p.Holder)
		if w == nil || w.Step != Verify || w.startedAt.IsZero() {
			continue
		}
		w.evidence = p.Evidence
		m.tell(w, "done", w.Owner, w.Fence, p.Evidence)
		outcome := Done
		if w.coalesces {
			outcome = m.cover(w)
		}
		m.scope(w).streak = 0
		m.free(w, stateDone)
		ended = append(ended, Ended{Item: p.Item, Outcome: outcome})
	}
	return ended, nil
}

// cover moves the scope's cover on, unless something newer is covered already.
func (m *Memory) cover(w *memoryItem) Outcome {
	scope := m.scope(w)
	if scope.cover != nil && scope.cover.ticket >= w.Result.Ticket {
		return Superseded
	}
	scope.cover = &memoryCover{
		generation: w.Generation,
		marker:     w.Result.Marker,
		ticket:     w.Result.Ticket,
		takenAt:    w.Result.TakenAt,
		item:       w.Item.Item,
		fence:      w.Fence,
		evidence:   w.evidence,
	}
	scope.generation = max(scope.generation, w.Generation+1)
	return Covered
}

func (m *Memory) scope(w *memoryItem) *memoryScope {
	return m.scopes[memoryKey{w.WorkType, w.Scope}]
}
