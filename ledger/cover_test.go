package ledger_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func manifest(number int64, marker string) ledger.Cover {
	return ledger.Cover{
		WorkType: backups, Scope: "app", Generation: lease.NewSerial(1, number), Marker: marker,
		TakenAt: time.Now().Add(-48 * time.Hour).UTC().Truncate(time.Microsecond), Fence: lease.NewSerial(1, 900),
		Evidence: json.RawMessage(`{"backup":"x"}`),
	}
}

func TestManifestCoversWhatTheLedgerLost(t *testing.T) {
	t.Parallel()
	_, db := backupLab(t)
	covers := func(want bool, c ledger.Cover) {
		t.Helper()
		if did, err := db.CoverManifest(t.Context(), c); err != nil || did != want {
			t.Errorf("covered by generation %s: %v, %v", c.Generation, did, err)
		}
	}
	c := manifest(41, "a")
	covers(true, c)
	h := head(t, db, backups, "app")
	if h.CoveredMarker != "a" || !h.TakenAt.Equal(c.TakenAt) || !h.CoveredAt.Equal(c.TakenAt) || h.Generation != lease.NewSerial(1, 42) {
		t.Errorf("head: %+v", h)
	}
	// The ticket is the ledger's own: a later look is neither stale nor new work.
	want(t, ledger.Covered, observe(t, db, saw("a")))
	covers(false, manifest(41, "again"))
	covers(false, manifest(40, "older"))
	want(t, ledger.Created, observe(t, db, saw("b")))
	claimOne(t, db, backups, "app")
	covers(false, manifest(43, "while a worker has it"))
	unknown := manifest(43, "x")
	unknown.Scope = "unheard of"
	covers(false, unknown)
	for _, bad := range []ledger.Cover{{Evidence: json.RawMessage("{")}, {Marker: strings.Repeat("m", 64<<10+1)}} {
		if _, err := db.CoverManifest(t.Context(), bad); err == nil {
			t.Errorf("covered by %.40v", bad)
		}
	}

	events, err := db.Events(t.Context(), 0)
	if err != nil || len(events) != 1 || events[0].Kind != "covered" || events[0].Owner != "h1" || events[0].Fence != c.Fence {
		t.Errorf("the ledger's own chain: %+v, %v", events, err)
	}
	sound(t, db)
}

func TestUncoverTakesOnlyTheGenerationThatWasLookedAt(t *testing.T) {
	t.Parallel()
	_, db := backupLab(t)
	cover(t, db, "a")
	cover(t, db, "b")
	uncover := func(number int64) bool {
		t.Helper()
		did, err := db.Uncover(t.Context(), backups, "app", lease.NewSerial(1, number), "checksum \xff differs")
		if err != nil {
			t.Fatal(err)
		}
		return did
	}
	if uncover(1) || !uncover(2) || uncover(2) {
		t.Error("want only generation 2 uncovered, and once")
	}
	h := head(t, db, backups, "app")
	if !h.EverCovered || h.CoveredMarker != "" || !h.Uncovered || h.Generation != lease.NewSerial(1, 4) || !h.CoveredAt.IsZero() {
		t.Errorf("head: %+v", h)
	}
	want(t, ledger.Created, observe(t, db, saw("b")))
	events, err := db.Events(t.Context(), 0)
	if err != nil || len(events) != 1 || events[0].Kind != "uncovered" || !strings.Contains(string(events[0].Detail), `"reason":"checksum`) ||
		strings.Contains(string(events[0].Detail), `"item":null`) {
		t.Errorf("the ledger's own chain: %+v, %v", events, err)
	}
	sound(t, db)
}

func TestLedgersOwnChainHoldsUnderRaces(t *testing.T) {
	t.Parallel()
	const writers, each = 5, 10
	l := newLab(t)
	var group sync.WaitGroup
	for range writers {
		db := l.open(t)
		group.Go(func() {
			for range each {
				if err := db.Record(t.Context(), "restored", json.RawMessage(`{"to":"scratch"}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	db := l.open(t)
	events, err := db.Events(t.Context(), 0)
	if err != nil || len(events) != writers*each {
		t.Errorf("%d receipts, %v", len(events), err)
	}
	sound(t, db)
	if err := db.Record(t.Context(), "restored", json.RawMessage(`{`)); err == nil {
		t.Error("a detail that is not JSON was recorded")
	}
}

func TestKnowsIsTheWitness(t *testing.T) {
	t.Parallel()
	l, db := backupLab(t)
	item := cover(t, db, "a")
	digest := l.Row(t, item).Head
	for _, test := range []struct {
		item   int64
		digest string
		want   bool
	}{{item, digest, true}, {item + 1, digest, false}, {item, digest + "0", false}, {0, "", false}} {
		if got, err := db.Knows(t.Context(), test.item, test.digest); err != nil || got != test.want {
			t.Errorf("knows %d %s: %v, %v", test.item, test.digest, got, err)
		}
	}
}

func TestStoreIsRememberedOnce(t *testing.T) {
	t.Parallel()
	const one, two = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	db := newLab(t).open(t)
	if _, known, err := db.KnownStore(t.Context(), "local"); err != nil || known {
		t.Errorf("before: %v, %v", known, err)
	}
	for range 2 {
		if err := db.RememberStore(t.Context(), "local", one); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.RememberStore(t.Context(), "local", two); !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), one) {
		t.Errorf("another id: %v", err)
	}
	if id, known, err := db.KnownStore(t.Context(), "local"); err != nil || !known || id != one {
		t.Errorf("after: %s, %v, %v", id, known, err)
	}
}

func TestProofsAreKept(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	proof := ledger.BackupProof{WorkType: backups, Scope: "app", Backup: "b1", Level: "hash"}
	if err := db.Prove(t.Context(), proof); err != nil {
		t.Fatal(err)
	}
	proof.Level, proof.Identity = "restore", "age1…"
	if err := db.Prove(t.Context(), proof); err != nil {
		t.Fatal(err)
	}
	if got := ask[string](t, l, "SELECT string_agg(level || ':' || coalesce(identity, 'none'), ' ' ORDER BY level) FROM heyaira_loop.backup_proof"); got != "hash:none restore:age1…" {
		t.Errorf("proofs: %s", got)
	}
	proof.Level = "hope"
	if err := db.Prove(t.Context(), proof); err == nil {
		t.Error("an unknown level was kept")
	}
}
