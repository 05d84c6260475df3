package backup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// storeRecord is store.json: which store this is, wherever it is mounted.
type storeRecord struct {
	Format int    `json:"format"`
	Store  string `json:"store"` // UUID
}

// owner is one of a scope's owners: the ledger of the highest number may write it.
type owner struct {
	Format      int      `json:"format"`
	Ledger      string   `json:"ledger"`
	Environment string   `json:"environment"`
	Epoch       int64    `json:"epoch"`
	At          Stamp    `json:"at"`
	Former      []string `json:"former"`
}

// memory is what a step asks the ledger about a store. *loop.Work is one.
type memory interface {
	Knows(ctx context.Context, item int64, digest string) (bool, error)
	KnownStore(ctx context.Context, name string) (id string, known bool, err error)
	RememberStore(ctx context.Context, name, id string) error
}

// place is a store that was found to be the one the ledger knows.
type place struct {
	store store.Store
	name  string // in the configuration
	id    string // UUID of store.json
}

// enter makes sure that a store is the one that the ledger knows under this name.
// The first backup gives a store its id. Absent where the ledger knows one is
// unreachable, another id is refused, neither is ever an empty store.
func enter(ctx context.Context, st store.Store, name string, ledger memory) (*place, error) {
	known, isKnown, err := ledger.KnownStore(ctx, name)
	if err != nil {
		return nil, err
	}
	id, err := storeID(ctx, st)
	switch {
	case errors.Is(err, store.ErrNotFound) && isKnown:
		return nil, unreachable(fmt.Sprintf("reach store %s: %s has no %s, and the ledger knows one", name, st, storeKey),
			"is the store mounted, and is the path right?", err)
	case errors.Is(err, store.ErrNotFound):
		if id, err = nameStore(ctx, st); err != nil {
			return nil, notThere(ctx, name, err)
		}
	case err != nil:
		return nil, notThere(ctx, name, err)
	}
	if !isKnown {
		if err := ledger.RememberStore(ctx, name, id); err != nil {
			return nil, err
		}
		// Another host may have come first with a store of its own.
		if known, _, err = ledger.KnownStore(ctx, name); err != nil {
			return nil, err
		}
	}
	if id != known {
		return nil, refused(fmt.Sprintf("store %s is another one: %s shows id %s, the ledger knows %s", name, st, id, known),
			"mount the store that the ledger knows, or give this one a name of its own in the configuration")
	}
	return &place{store: st, name: name, id: id}, nil
}

// storeID reads a store's id; store.ErrNotFound where it has none.
func storeID(ctx context.Context, st store.Store) (string, error) {
	var record storeRecord
	if err := readRecord(ctx, st, storeKey, &record); err != nil {
		return "", err
	}
	if !isUUID(record.Store) {
		return "", unreadable(storeKey, errors.New("it holds no id"))
	}
	return record.Store, nil
}

// nameStore gives a store an id, unless another came first.
func nameStore(ctx context.Context, st store.Store) (string, error) {
	err := putRecord(ctx, st, storeKey, storeRecord{Format: format, Store: newUUID()})
	if err != nil && !errors.Is(err, store.ErrExists) {
		return "", err
	}
	return storeID(ctx, st)
}

// notThere says that a store could not be asked; what it is refused for stays a
// refusal.
func notThere(ctx context.Context, name string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, ledger.ErrRefused) || errors.Is(err, errUnreadable) {
		return err
	}
	return lease.WithClass(lease.ClassOf(err), &ledger.UnreachableError{
		Reason: fmt.Sprintf("reach store %s: %v", name, err),
		Hint:   "is the store there, and may this user write in it?",
		Err:    err,
	})
}

// claimScope makes sure that this ledger may write a scope, and answers the scope's
// newest manifest (nil: none). It writes nothing before that is certain.
func (p *place) claimScope(ctx context.Context, scope string, who ledger.Identity, generation lease.Serial, now time.Time, ledger memory) (*Manifest, error) {
	for {
		number, last, err := lastOwner(ctx, p.store, scope)
		if err != nil {
			return nil, notThere(ctx, p.name, err)
		}
		if number > 0 && !ours(who, last.Ledger) {
			return nil, otherLedger(scope, p.name, last)
		}
		newest, err := p.witness(ctx, scope, who, generation, ledger)
		if err != nil {
			return nil, err
		}
		if number > 0 && last.Ledger == who.ID {
			return newest, nil
		}
		record := owner{
			Format: format, Ledger: who.ID, Environment: who.Environment,
			Epoch: who.Epoch, At: stamp(now), Former: append([]string{}, who.Former...),
		}
		err = putRecord(ctx, p.store, ownerKey(scope, number+1), record)
		if err == nil {
			return newest, nil
		}
		if !errors.Is(err, store.ErrExists) {
			return nil, notThere(ctx, p.name, err)
		}
	}
}

// witness asks the scope's newest manifest whether this ledger is the one that made
// it. A copy, or a ledger that was set back, does not have its receipt; to one that
// was adopted the generations of the former ledger lie in the past.
func (p *place) witness(ctx context.Context, scope string, who ledger.Identity, generation lease.Serial, ledger memory) (*Manifest, error) {
	newest, err := newestManifest(ctx, p.store, scope)
	if err != nil {
		return nil, notThere(ctx, p.name, err)
	}
	if newest == nil {
		return nil, nil
	}
	known := ours(who, newest.Ledger) && newest.Generation < generation
	if newest.Ledger == who.ID && known {
		if known, err = ledger.Knows(ctx, newest.Item, newest.Head); err != nil {
			return nil, err
		}
	}
	if !known {
		return nil, refused(fmt.Sprintf("this ledger is a copy or was rewound: it does not know backup %s of scope %s in store %s", newest.Backup, scope, p.name),
			"use the ledger that made this backup")
	}
	return newest, nil
}

// lastOwner is the owner that rules a scope; number 0 where there is none.
func lastOwner(ctx context.Context, st store.Store, scope string) (number int, last owner, err error) {
	for info, err := range st.List(ctx, scope+"/"+ownersFolder+"/", "") {
		if err != nil {
			return 0, owner{}, fmt.Errorf("list owners of %s: %w", scope, err)
		}
		if n, ok := ownerNumber(scope, info.Key); ok {
			number = max(number, n)
		}
	}
	if number == 0 {
		return 0, owner{}, nil
	}
	key := ownerKey(scope, number)
	if err := readRecord(ctx, st, key, &last); err != nil {
		return 0, owner{}, err
	}
	if !isUUID(last.Ledger) {
		return 0, owner{}, unreadable(key, errors.New("it names no ledger"))
	}
	return number, last, nil
}

func otherLedger(scope, store string, last owner) error {
	return refused(fmt.Sprintf("scope %s of store %s belongs to ledger %s (environment %s)", scope, store, last.Ledger, last.Environment),
		"a scope is written by one ledger: use that one, or give the backup another name or another store")
}

// ours tells whether an id is a ledger's present one or one that it had before.
func ours(who ledger.Identity, id string) bool {
	return id == who.ID || slices.Contains(who.Former, id)
}

// newUUID is a random UUID (version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: without randomness the program ends
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
