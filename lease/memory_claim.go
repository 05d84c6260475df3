package lease

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// Claim leases eligible work, type by type in the order of their names.
func (m *Memory) Claim(ctx context.Context, request Request) ([]Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var claimed []Item
	for _, workType := range slices.Sorted(maps.Keys(request.Scopes)) {
		due := m.due(workType, request)
		for _, w := range due[:min(len(due), m.room(workType, request))] {
			m.fence++ // drawn under the lock: within a scope it only grows
			w.state, w.Fence, w.Owner = stateLeased, m.fence, request.Owner
			w.Claims++
			m.extend(w)
			m.turns[workType] = w.Scope
			m.tell(w, "claimed", w.Owner, w.Fence, nil)
			claimed = append(claimed, m.shown(w))
		}
	}
	return claimed, nil
}

// room is how many more may be leased now.
func (m *Memory) room(workType string, request Request) int {
	policy := m.policies[workType]
	host, _, _ := strings.Cut(request.Owner, ":")
	running, here := 0, 0
	for _, w := range m.items {
		if w.WorkType != workType || w.state != stateLeased {
			continue
		}
		running++
		if at, _, _ := strings.Cut(w.Owner, ":"); at == host {
			here++
		}
	}
	room := request.Limit
	if policy.MaxRunning > 0 {
		room = min(room, policy.MaxRunning-running)
	}
	if policy.MaxRunningPerHost > 0 {
		room = min(room, policy.MaxRunningPerHost-here)
	}
	return max(room, 0)
}

// due lists eligible work in claim order. A scope that coalesces has one item, so
// oldest first is fair; the others take turns, beginning after the scope that was
// served last: the first item of every scope comes before the second of any.
func (m *Memory) due(workType string, request Request) []*memoryItem {
	now := m.now()
	var due []*memoryItem
	for _, w := range m.items {
		if w.WorkType == workType && w.state == stateQueued && !w.runAt.After(now) && slices.Contains(request.Scopes[workType], w.Scope) {
			due = append(due, w)
		}
	}
	slices.SortFunc(due, func(a, b *memoryItem) int {
		return cmp.Or(a.runAt.Compare(b.runAt), cmp.Compare(a.Item.Item, b.Item.Item))
	})
	if m.policies[workType].Coalesces {
		return due
	}
	rank := map[*memoryItem]int{}
	seen := map[string]int{}
	for _, w := range due {
		rank[w] = seen[w.Scope]
		seen[w.Scope]++
	}
	served := func(w *memoryItem) int {
		if w.Scope <= m.turns[workType] {
			return 1
		}
		return 0
	}
	slices.SortFunc(due, func(a, b *memoryItem) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(served(a), served(b)), cmp.Compare(a.Scope, b.Scope))
	})
	return due
}

// shown is an item as it is handed out.
func (m *Memory) shown(w *memoryItem) Item {
	item := w.Item
	item.Now = m.now()
	return item
}
