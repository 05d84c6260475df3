package lease

import "time"

// What the suite's harness needs to see and move inside a Memory.

// MemoryRow is an item as it stands.
type MemoryRow struct {
	Item
	State      string
	RunAt      time.Time
	Started    bool
	Progress   Progress
	Charged    int
	Failures   int
	Crashes    int
	LastError  string
	Evidence   []byte
	FinishedAt time.Time
	Receipts   []Receipt
	Digests    []string
}

// Look reads an item.
func (m *Memory) Look(item int64) MemoryRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.items[item-1]
	row := MemoryRow{
		Item: w.Item, State: w.state, RunAt: w.runAt, Started: !w.startedAt.IsZero(), Progress: w.progress,
		Charged: w.Claims - w.claimsBase, Failures: w.failures, Crashes: w.crashes,
		LastError: w.lastError, Evidence: w.evidence, FinishedAt: w.finishedAt,
	}
	for _, e := range w.events {
		row.Receipts = append(row.Receipts, e.Receipt)
		row.Digests = append(row.Digests, e.digest)
	}
	return row
}

// Move changes an item's times.
func (m *Memory) Move(item int64, change func(until, runAt *time.Time)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.items[item-1]
	change(&w.Until, &w.runAt)
}

// Draw draws a ticket.
func (m *Memory) Draw() Serial {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ticket++
	return m.ticket
}

// MemoryHead is the head of a scope with its cover.
type MemoryHead struct {
	Generation, CoverOf, Ticket, Fence Serial
	Streak                             int
	Covered                            bool
	Marker                             string
	TakenAt                            time.Time
	Item                               int64
	Evidence                           []byte
}

// Head reads a scope.
func (m *Memory) Head(workType, scope string) MemoryHead {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.scopes[memoryKey{workType, scope}]
	head := MemoryHead{Generation: s.generation, Streak: s.streak}
	if c := s.cover; c != nil {
		head.Covered, head.CoverOf, head.Ticket, head.Fence = true, c.generation, c.ticket, c.fence
		head.Marker, head.TakenAt, head.Item, head.Evidence = c.marker, c.takenAt, c.item, c.evidence
	}
	return head
}

// MemoryIntent is an intent as it stands.
type MemoryIntent struct {
	State            EffectState
	Kind             string
	Item             int64
	Fence            Serial
	Target, Evidence []byte
	Tries            int
}

// Effect reads an intent.
func (m *Memory) Effect(key string) (MemoryIntent, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.effects[key]
	if e == nil {
		return MemoryIntent{}, false
	}
	return MemoryIntent{e.state, e.kind, e.item, e.fence, e.target, e.evidence, e.tries}, true
}

// Clock reads the store's clock.
func (m *Memory) Clock() time.Time { return m.now() }
