package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

var (
	_ Store   = (*Memory)(nil)
	_ Effects = (*Memory)(nil)
)

// Memory is a Store and its Effects without a database, for tests and trials: the
// same rules as the ledger's statements, and receipts chained in the same way. Nothing
// in it outlives the process.
type Memory struct {
	clock func() time.Time

	mu       sync.Mutex
	policies map[string]MemoryPolicy
	turns    map[string]string // by work type: the scope served last
	scopes   map[memoryKey]*memoryScope
	items    []*memoryItem // item N at N-1
	effects  map[string]*memoryEffect
	fence    Serial // drawn last
	ticket   Serial // drawn last
}

// MemoryPolicy is what a work type allows. Zero caps mean no cap; other zeros take the
// ledger's defaults.
type MemoryPolicy struct {
	Coalesces         bool
	TTL               time.Duration
	MaxRunning        int
	MaxRunningPerHost int
	MaxFailures       int
	MaxCrashes        int
	MaxClaims         int
	BackoffBase       time.Duration
	BackoffCap        time.Duration
	BlockedWait       time.Duration
}

// MemoryWork is a piece of work to queue. Work that coalesces is keyed by its marker,
// other work by Key.
type MemoryWork struct {
	WorkType string
	Scope    string
	Key      string
	Marker   string
	Payload  json.RawMessage
}

type memoryKey struct{ workType, scope string }

type memoryScope struct {
	generation Serial
	streak     int
	lastHead   string // of the item made last
	cover      *memoryCover
}

type memoryCover struct {
	generation Serial
	marker     string
	ticket     Serial
	takenAt    time.Time
	item       int64
	fence      Serial
	evidence   json.RawMessage
}

type memoryItem struct {
	Item       // Holder, Step, Until, Claims, Result and Head as they stand
	state      string
	coalesces  bool
	runAt      time.Time
	startedAt  time.Time
	progress   Progress
	claimsBase int
	failures   int
	crashes    int
	lastError  string
	evidence   json.RawMessage
	finishedAt time.Time
	events     []memoryEvent
}

type memoryEvent struct {
	Receipt
	digest string
}

type memoryEffect struct {
	state    EffectState
	kind     string
	item     int64
	fence    Serial
	owner    string
	target   json.RawMessage
	evidence json.RawMessage
	tries    int
}

// The states of an item, and of an open intent.
const (
	stateQueued      = "queued"
	stateLeased      = "leased"
	stateDone        = "done"
	stateFailed      = "failed"
	stateQuarantined = "quarantined"

	intentOpen EffectState = "intent"
)

// NewMemory is an empty store whose time is clock.
func NewMemory(clock func() time.Time) *Memory {
	return &Memory{
		clock:    clock,
		policies: map[string]MemoryPolicy{},
		turns:    map[string]string{},
		scopes:   map[memoryKey]*memoryScope{},
		effects:  map[string]*memoryEffect{},
		fence:    NewSerial(1, 0),
		ticket:   NewSerial(1, 0),
	}
}

// Allow puts the policy of a work type in force and registers scopes.
func (m *Memory) Allow(workType string, p MemoryPolicy, scopes ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.TTL = or(p.TTL, time.Minute)
	p.MaxFailures = or(p.MaxFailures, 5)
	p.MaxCrashes = or(p.MaxCrashes, 3)
	p.MaxClaims = or(p.MaxClaims, 50)
	p.BackoffBase = or(p.BackoffBase, 5*time.Second)
	p.BackoffCap = or(p.BackoffCap, time.Hour)
	p.BlockedWait = or(p.BlockedWait, 15*time.Minute)
	m.policies[workType] = p
	for _, scope := range scopes {
		key := memoryKey{workType, scope}
		if m.scopes[key] == nil {
			m.scopes[key] = &memoryScope{generation: NewSerial(1, 1)}
		}
	}
}

// Put queues a piece of work of a registered scope. The dedupe key must be new, and of
// a scope that coalesces nothing may be on its way.
func (m *Memory) Put(work MemoryWork) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	policy, known := m.policies[work.WorkType]
	scope := m.scopes[memoryKey{work.WorkType, work.Scope}]
	if !known || scope == nil {
		return 0, fmt.Errorf("put work of %s/%s: not registered", work.WorkType, work.Scope)
	}
	w := &memoryItem{state: stateQueued, coalesces: policy.Coalesces, runAt: m.now()}
	w.Item.Item = int64(len(m.items) + 1)
	w.WorkType, w.Scope, w.Marker, w.Payload = work.WorkType, work.Scope, work.Marker, work.Payload
	w.Step, w.Generation, w.DedupeKey = Run, scope.generation, work.Key
	if policy.Coalesces {
		w.DedupeKey = dedupeKey(work.Marker, w.Generation)
	}
	for _, other := range m.items {
		if other.WorkType != w.WorkType || other.Scope != w.Scope {
			continue
		}
		if other.DedupeKey == w.DedupeKey {
			return 0, fmt.Errorf("put work of %s/%s: key %s is taken", work.WorkType, work.Scope, w.DedupeKey)
		}
		if w.coalesces && other.active() {
			return 0, fmt.Errorf("put work of %s/%s: item %d is on its way", work.WorkType, work.Scope, other.Item.Item)
		}
	}
	m.items = append(m.items, w)
	m.tell(w, "created", "", 0, map[string]any{"dedupe_key": w.DedupeKey, "previous": scope.lastHead})
	scope.lastHead = w.Head
	return w.Item.Item, nil
}

func dedupeKey(marker string, generation Serial) string {
	return marker + "@" + generation.String()
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (w *memoryItem) active() bool { return w.state == stateQueued || w.state == stateLeased }

// now is the store's clock, as fine as a row's time.
func (m *Memory) now() time.Time { return m.clock().UTC().Truncate(time.Microsecond) }

// held is the item of a holder whose lease is valid, nil otherwise.
func (m *Memory) held(h Holder) *memoryItem {
	if w := m.leased(h.Item, h.Fence); w != nil && w.Owner == h.Owner {
		return w
	}
	return nil
}

func (m *Memory) leased(item int64, fence Serial) *memoryItem {
	if item < 1 || item > int64(len(m.items)) {
		return nil
	}
	w := m.items[item-1]
	if w.state != stateLeased || w.Fence != fence || !w.Until.After(m.now()) {
		return nil
	}
	return w
}

// extend renews a lease by the policy in force.
func (m *Memory) extend(w *memoryItem) Kept {
	w.TTL = m.policies[w.WorkType].TTL
	w.Until = m.now().Add(w.TTL)
	return Kept{Item: w.Item.Item, Until: w.Until, TTL: w.TTL}
}

// free ends the lease; the fence stays, to be outgrown.
func (m *Memory) free(w *memoryItem, state string) {
	w.state, w.Owner, w.Until, w.startedAt = state, "", time.Time{}, time.Time{}
	if state != stateQueued {
		w.finishedAt = m.now()
	}
}

// tell appends a receipt to the item's chain. detail is a value to encode, or raw
// bytes to keep as they are.
func (m *Memory) tell(w *memoryItem, kind, owner string, fence Serial, detail any) {
	raw, ok := detail.(json.RawMessage)
	if !ok && detail != nil {
		// Texts, numbers and JSON that was looked at before: it cannot fail.
		raw, _ = json.Marshal(detail)
	}
	r := Receipt{Previous: w.Head, Item: w.Item.Item, No: len(w.events) + 1, At: m.now(), Kind: kind, Owner: owner, Fence: fence, Detail: raw}
	w.Head = r.Digest()
	w.events = append(w.events, memoryEvent{r, w.Head})
}

// backoff is exponential with jitter and a cap.
func (p MemoryPolicy) backoff(tries int) time.Duration {
	wait := p.BackoffCap
	if grown := p.BackoffBase << min(tries, 20); grown > 0 {
		wait = min(wait, grown)
	}
	return wait/2 + rand.N(wait/2+1)
}

var errUncovering = errors.New("work that covers needs a ticket and a time")

// mustBeJSON refuses what no column of the ledger takes.
func mustBeJSON(what string, raw json.RawMessage) error {
	if !json.Valid(raw) {
		return fmt.Errorf("keep %s: not JSON", what)
	}
	return nil
}
