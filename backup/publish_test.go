package backup

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
)

// halfway takes an attempt as far as its committed data, and no further.
func halfway(t *testing.T, b *bench, a *attempt) (*place, *Manifest) {
	t.Helper()
	ctx := t.Context()
	if err := a.draw(ctx); err != nil {
		t.Fatal(err)
	}
	permit, found, err := a.claim(ctx)
	if err != nil || permit == nil {
		t.Fatalf("claim: %v, %v", found, err)
	}
	p, err := a.enter(ctx, b.config.Store)
	if err != nil {
		t.Fatal(err)
	}
	previous, err := p.claimScope(ctx, benchScope, a.who, a.item.Generation, a.now(), a.hand)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := a.upload(ctx, p, previous)
	if err != nil {
		t.Fatal(err)
	}
	return p, manifest
}

// manifests are the ids of all backups that a store shows as published.
func (b *bench) manifests(t *testing.T) []string {
	t.Helper()
	list, err := List(t.Context(), b.store, benchScope)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, one := range list {
		if one.State == Verified || one.State == Unverified {
			ids = append(ids, one.Backup)
		}
	}
	return ids
}

func TestBackupThatWasPublishedIsFoundByTheNextAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(t)
	dead := b.attempt(b.hold(t, lease.Run), b.store)
	p, manifest := halfway(t, b, dead)
	if err := dead.putManifest(t.Context(), p, manifest); err != nil {
		t.Fatal(err)
	}
	b.lapse(t) // it died before it could record that

	h := b.hold(t, lease.Run)
	found, err := b.run(t.Context(), t, b.attempt(h, b.store))
	if err != nil {
		t.Fatal(err)
	}
	if found.Backup != manifest.Backup || found.Ticket != dead.ticket || found.Marker != string(manifest.Marker) {
		t.Errorf("got %+v, want what the dead attempt published", found)
	}
	if ids := b.manifests(t); !slices.Equal(ids, []string{manifest.Backup}) {
		t.Errorf("published %v, want one", ids)
	}
	if state := b.intent(t); state != "committed" {
		t.Errorf("intent is %s", state)
	}
	if _, err := b.verify(t, found, h); err != nil {
		t.Errorf("verify: %v", err)
	}
}

func TestAttemptIsClosedBeforeItsGenerationIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(t)
	late := b.attempt(b.hold(t, lease.Run), b.store)
	p, manifest := halfway(t, b, late)
	b.lapse(t)

	done, err := b.run(t.Context(), t, b.attempt(b.hold(t, lease.Run), b.store))
	if err != nil {
		t.Fatal(err)
	}
	err = late.putManifest(t.Context(), p, manifest) // it wakes up
	if sure := lease.ClassOf(err); sure != lease.LostClass || !errors.Is(err, lease.ErrLost) {
		t.Errorf("late publication: %v, want a lost lease", err)
	}
	if ids := b.manifests(t); !slices.Equal(ids, []string{done.Backup}) {
		t.Errorf("published %v, want %s alone", ids, done.Backup)
	}
	if done.Backup == manifest.Backup {
		t.Error("two attempts share an id")
	}
	_, end, err := readManifest(t.Context(), b.store, benchScope, late.id)
	if err != nil || end == nil || end.Ledger != b.who.ID {
		t.Errorf("at the late attempt's manifest key: %+v, %v, want a closing record", end, err)
	}
}

func TestPublishingAndClosingAgreeOnOneWinner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(t)
	a := b.attempt(b.hold(t, lease.Run), b.store)
	p, manifest := halfway(t, b, a)
	for range 50 {
		var published error
		var found *Manifest
		var closing error
		var both sync.WaitGroup
		both.Go(func() { published = putRecord(t.Context(), p.store, a.id.key(benchScope, manifestName), manifest) })
		both.Go(func() { found, closing = p.close(t.Context(), benchScope, a.id, a.closing(a.id)) })
		both.Wait()
		if closing != nil {
			t.Fatal(closing)
		}
		if (published == nil) != (found != nil) {
			t.Fatalf("published: %v, closing found: %v", published, found)
		}
		if err := b.store.Remove(t.Context(), a.id.key(benchScope, manifestName)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLostReplyOfTheManifestIsAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(t)
	h := b.hold(t, lease.Run)
	lossy := &trap{Store: b.store}
	lossy.putOnce = func(ctx context.Context, key string, body []byte) (bool, error) {
		if !strings.HasSuffix(key, manifestName) {
			return false, nil
		}
		return true, errors.Join(errTrap, b.store.PutOnce(ctx, key, body))
	}
	done, err := b.run(t.Context(), t, b.attempt(h, lossy))
	if err != nil {
		t.Fatal(err)
	}
	if ids := b.manifests(t); !slices.Equal(ids, []string{done.Backup}) || b.intent(t) != "committed" {
		t.Errorf("published %v, intent %s", ids, b.intent(t))
	}
}

func TestManifestThatCouldNotBePutIsShutOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(t)
	h := b.hold(t, lease.Run)
	a := b.attempt(h, &trap{Store: b.store, putOnce: func(_ context.Context, key string, body []byte) (bool, error) {
		return strings.HasSuffix(key, manifestName) && !bytes.Contains(body, []byte(`"closed"`)), errTrap
	}})
	if _, err := b.run(t.Context(), t, a); !errors.Is(err, errTrap) {
		t.Fatalf("got %v, want the store's error", err)
	}
	if state := b.intent(t); state != "abandoned" {
		t.Errorf("intent is %s", state)
	}
	if _, err := b.store.Stat(t.Context(), a.id.key(benchScope, mainName)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("data: %v, want it gone", err)
	}
	if _, end, err := readManifest(t.Context(), b.store, benchScope, a.id); err != nil || end == nil {
		t.Errorf("at the manifest's key: %v, %v, want a closing record", end, err)
	}
	// The next attempt publishes the same generation.
	b.lapse(t)
	if _, err := b.run(t.Context(), t, b.attempt(b.hold(t, lease.Run), b.store)); err != nil {
		t.Errorf("next attempt: %v", err)
	}
}

// large gives the protected database more than a pipe holds.
func (b *bench) large(t *testing.T) {
	t.Helper()
	pgtest.Exec(t, b.database, "CREATE TABLE large AS SELECT n, repeat(md5(n::text), 8) AS text FROM generate_series(1, 40000) AS n")
}

// unpublished asserts that a failed run has left neither data nor a manifest.
func (b *bench) unpublished(t *testing.T, intent string) {
	t.Helper()
	for _, key := range b.files(t) {
		if key != storeKey && !strings.Contains(key, "/"+ownersFolder+"/") {
			t.Errorf("left behind: %s", key)
		}
	}
	if state := b.intent(t); state != intent {
		t.Errorf("intent is %s, want %s", state, intent)
	}
}

func TestDumpThatFailsHalfwayLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.large(t)
	b.observe(t)
	h := b.hold(t, lease.Run)
	conn := pgtest.Connect(t, b.database)
	var once sync.Once
	h.reply = func(stage string) {
		if stage == "dump" {
			once.Do(func() {
				if _, err := conn.Exec(context.Background(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg_dump'"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	_, err := b.run(t.Context(), t, b.attempt(h, b.store))
	if err == nil || lease.ClassOf(err) != lease.Transient || !strings.Contains(err.Error(), "pg_dump ended with status 1") {
		t.Errorf("got %v, want pg_dump's failure", err)
	}
	b.unpublished(t, "abandoned")
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.large(t)
	b.observe(t)
	h := b.hold(t, lease.Run)
	ctx, cancel := context.WithCancel(t.Context())
	h.reply = func(stage string) {
		if stage == "dump" {
			cancel()
		}
	}
	if _, err := b.run(ctx, t, b.attempt(h, b.store)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
	b.unpublished(t, "abandoned")
}

func TestStaleWorkerPublishesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(t)
	h := b.hold(t, lease.Run)
	h.reply = func(stage string) { h.lapsed = stage == "dump" }
	if _, err := b.run(t.Context(), t, b.attempt(h, b.store)); !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v, want a lost lease", err)
	}
	b.unpublished(t, "intent")
}

func TestStaleWorkerLeavesItsDataToWhoeverClosesTheAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.observe(t)
	h := b.hold(t, lease.Run)
	h.reply = func(stage string) { h.lapsed = stage == "commit" }
	a := b.attempt(h, b.store)
	if _, err := b.run(t.Context(), t, a); !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v, want a lost lease", err)
	}
	if _, err := b.store.Stat(t.Context(), a.id.key(benchScope, mainName)); err != nil {
		t.Errorf("data: %v", err)
	}
	if _, err := b.store.Stat(t.Context(), a.id.key(benchScope, manifestName)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("manifest: %v, want none", err)
	}
	if state := b.intent(t); state != "intent" {
		t.Errorf("intent is %s: a lost lease records nothing", state)
	}
}

func TestRunWithoutAClientIsBlocked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.PgBin = t.TempDir()
	b.observe(t)
	_, err := b.run(t.Context(), t, b.attempt(b.hold(t, lease.Run), b.store))
	if lease.ClassOf(err) != lease.Blocked {
		t.Errorf("got %v, want blocked", err)
	}
	b.unpublished(t, "abandoned")
}

func TestManifestNamesTheBackupBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.backup(t)
	second := b.backup(t)
	manifest, err := newestManifest(t.Context(), b.store, benchScope)
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Backup != second.Backup || manifest.previous() != first.Backup {
		t.Errorf("newest %s after %q, want %s after %s", manifest.Backup, manifest.previous(), second.Backup, first.Backup)
	}
	known, err := b.ledger.Knows(t.Context(), manifest.Item, manifest.Head)
	if err != nil || !known {
		t.Errorf("the ledger does not know the head in the manifest: %v", err)
	}
}
