package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// elsewhere swaps the bench's store for another folder.
func (b *bench) elsewhere(t *testing.T) {
	t.Helper()
	b.folder = t.TempDir()
	st, err := store.NewDir(b.folder)
	if err != nil {
		t.Fatal(err)
	}
	b.store = st
}

// tryRun makes a change and runs; it answers the run's error.
func (b *bench) tryRun(t *testing.T) error {
	t.Helper()
	b.observe(t)
	_, err := b.attempt(b.hold(t, lease.Run), b.store).run(t.Context())
	return err
}

func TestFirstBackupNamesTheStoreAndTheOwner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backup(t)
	id, err := storeID(t.Context(), b.store)
	if err != nil {
		t.Fatal(err)
	}
	if known, ok, err := b.ledger.KnownStore(t.Context(), "local"); err != nil || !ok || known != id {
		t.Errorf("ledger knows %q, %v, want %s", known, err, id)
	}
	body, err := os.ReadFile(filepath.Join(b.folder, storeKey))
	if want := `{"format":1,"store":"` + id + `"}`; err != nil || string(body) != want {
		t.Errorf("store.json: %s, %v, want %s", body, err, want)
	}
	body, err = os.ReadFile(filepath.Join(b.folder, benchScope, ownersFolder, "0001.json"))
	if err != nil || !strings.HasPrefix(string(body), `{"at":"20`) ||
		!strings.HasSuffix(string(body), `","environment":"test","epoch":1,"format":1,"former":[],"ledger":"`+b.who.ID+`"}`) {
		t.Errorf("owner: %s, %v", body, err)
	}
}

func TestUnmountedStoreIsUnreachableNeverEmpty(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backup(t)
	b.elsewhere(t)
	err := b.tryRun(t)
	if !errors.Is(err, ledger.ErrUnreachable) || lease.ClassOf(err) != lease.Blocked {
		t.Errorf("got %v, want blocked and unreachable", err)
	}
	if files := b.files(t); len(files) > 0 {
		t.Errorf("written into a store that is not there: %v", files)
	}
}

func TestAnotherStoreIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backup(t)
	b.elsewhere(t)
	if _, err := nameStore(t.Context(), b.store); err != nil {
		t.Fatal(err)
	}
	err := b.tryRun(t)
	if !errors.Is(err, ledger.ErrRefused) || lease.ClassOf(err) != lease.Blocked {
		t.Errorf("got %v, want blocked and refused", err)
	}
	if files := b.files(t); !slices.Equal(files, []string{storeKey}) {
		t.Errorf("written into another store: %v", files)
	}
}

func TestScopeOfAnotherLedgerIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backup(t)
	before := b.files(t)
	b.openLedger(t, pgtest.Ledger(t))
	b.register(t)
	if err := b.tryRun(t); !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), "belongs to ledger") {
		t.Errorf("got %v, want refused", err)
	}
	if after := b.files(t); !slices.Equal(after, before) {
		t.Errorf("written into another's scope: %v", after)
	}
	if _, err := b.consumer.Recall(t.Context(), benchScope, b.who); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("recall: %v, want refused", err)
	}
}

func TestAdoptedLedgerTakesOverTheScopesOfItsFormerSelf(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.backup(t)
	former := b.who.ID
	b.openLedger(t, pgtest.Ledger(t))
	b.who.Former, b.who.Epoch = []string{former}, 2
	p, err := enter(t.Context(), b.store, "local", b.ledger)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is ours
		newest, err := p.claimScope(t.Context(), benchScope, b.who, lease.NewSerial(2, 1), time.Unix(0, 0), b.ledger)
		if err != nil || newest == nil || newest.Backup != first.Backup {
			t.Fatalf("got %v, %v, want the former ledger's backup", newest, err)
		}
	}
	number, last, err := lastOwner(t.Context(), b.store, benchScope)
	if err != nil || number != 2 || last.Ledger != b.who.ID || !slices.Equal(last.Former, []string{former}) || last.Epoch != 2 {
		t.Errorf("owner %d is %+v, %v", number, last, err)
	}
	// The former self is shut out from now on.
	old := ledger.Identity{ID: former, Environment: "test", Epoch: 1}
	if _, err := p.claimScope(t.Context(), benchScope, old, lease.NewSerial(1, 9), time.Unix(0, 0), b.ledger); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("former ledger: %v, want refused", err)
	}
}

func TestRewoundLedgerIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.backup(t)
	p, err := enter(t.Context(), b.store, "local", b.ledger)
	if err != nil {
		t.Fatal(err)
	}
	far := lease.NewSerial(1, 900)
	if _, err := p.claimScope(t.Context(), benchScope, b.who, far, time.Unix(0, 0), b.ledger); err != nil {
		t.Fatalf("the ledger itself: %v", err)
	}
	// The same identity with a past that lacks the backup, however far it has come since.
	past := ledgerOf(t, pgtest.Ledger(t))
	if _, err := p.claimScope(t.Context(), benchScope, b.who, far, time.Unix(0, 0), past); !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), "is a copy or was rewound") {
		t.Errorf("rewound: %v, want refused", err)
	}
	if _, err := p.claimScope(t.Context(), benchScope, b.who, lease.NewSerial(1, 1), time.Unix(0, 0), b.ledger); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("a generation that was published before: %v, want refused", err)
	}
	stranger := ledger.Identity{ID: newUUID(), Former: []string{b.who.ID}, Epoch: 2}
	if _, err := p.claimScope(t.Context(), benchScope, stranger, lease.NewSerial(1, 1), time.Unix(0, 0), past); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("adopted with a generation that is not above: %v, want refused", err)
	}
	if number, _, err := lastOwner(t.Context(), b.store, benchScope); err != nil || number != 1 {
		t.Errorf("owner %d, %v: a refused ledger took the scope over", number, err)
	}
}

func TestDamagedNewestManifestStopsTheScopeUntilItIsRefuted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	published, h := b.publish(t)
	flipByte(t, b.path(t, published.Backup, manifestName), 20)
	if _, err := newestManifest(t.Context(), b.store, benchScope); !errors.Is(err, errUnreadable) {
		t.Errorf("got %v, want unreadable", err)
	}
	v, err := b.verify(t, published, h)
	if lease.ClassOf(err) != lease.Refuted {
		t.Fatalf("verify: %v, want refuted", err)
	}
	b.fail(t, v, err)
	if _, err := b.attempt(b.hold(t, lease.Run), b.store).run(t.Context()); err != nil {
		t.Errorf("next run: %v", err)
	}
}

// fail ends a held item with an error, as the loop does.
func (b *bench) fail(t *testing.T, h *held, err error) {
	t.Helper()
	ended, failed := b.ledger.Fail(t.Context(), []lease.Failure{{Holder: h.item.Holder, Class: lease.ClassOf(err), Reason: err.Error()}})
	if failed != nil || len(ended) != 1 {
		t.Fatalf("fail: %+v, %v", ended, failed)
	}
}

func ledgerOf(t *testing.T, conninfo string) *ledger.DB {
	t.Helper()
	var other bench
	other.openLedger(t, conninfo)
	return other.ledger
}

func TestHintMovesAwayOneBackupAndNeverTheStore(t *testing.T) {
	t.Parallel()
	id := ID{At: time.Unix(0, 0), Ledger: "0123abcd", Generation: lease.NewSerial(1, 1), Fence: lease.NewSerial(1, 1), Random: "89abcdef"}
	for key, moves := range map[string]bool{
		storeKey:                     false,
		ownerKey(benchScope, 1):      false,
		id.key(benchScope, "x.json"): true,
	} {
		var advice interface{ Hint() string }
		if err := unreadable(key, errors.New("x")); !errors.As(err, &advice) || strings.Contains(advice.Hint(), "move its folder") != moves {
			t.Errorf("%s: %v, want that its folder is moved: %v", key, advice, moves)
		}
	}
}
