package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestVerifiedBackupHasItsProofInTheStore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	published, h := b.publish(t)
	v, err := b.verify(t, published, h)
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(b.path(t, published.Backup, verifiedName))
	if err != nil || !strings.Contains(string(body), `"format":1,"level":"hash","manifest":"`+published.Digest+`"}`) {
		t.Errorf("verified.json: %s, %v", body, err)
	}
	// A crash before the ledger covered it: the proof is there, and that is fine.
	if _, err := b.trial(v).run(t.Context(), func(string) (store.Store, error) { return b.store, nil }, v.item.Result); !errors.Is(err, lease.ErrLost) {
		t.Errorf("verify after its end: %v, want a lost lease", err)
	}
	cover, err := b.consumer.Recall(t.Context(), benchScope, b.who)
	if err != nil || cover == nil || cover.Marker != published.Marker || cover.Generation != v.item.Generation {
		t.Errorf("recall: %+v, %v", cover, err)
	}
}

func TestRefutedBackupIsNeverCountedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.backup(t)
	published, h := b.publish(t)
	flipByte(t, b.path(t, published.Backup, mainName), -100)
	v, refuted := b.verify(t, published, h)
	if lease.ClassOf(refuted) != lease.Refuted || !strings.Contains(refuted.Error(), "SHA-256") {
		t.Fatalf("got %v, want refuted", refuted)
	}
	body, err := os.ReadFile(b.path(t, published.Backup, refutedName))
	if err != nil || !strings.Contains(string(body), `"reason":"main.dump.zst.age has another SHA-256 than the manifest says"`) {
		t.Errorf("refuted.json: %s, %v", body, err)
	}
	if _, err := os.Stat(b.path(t, published.Backup, verifiedName)); err == nil {
		t.Error("verified.json was put")
	}
	flipByte(t, b.path(t, published.Backup, mainName), -100) // even if it heals
	if _, err := b.trial(v).run(t.Context(), func(string) (store.Store, error) { return b.store, nil }, v.item.Result); lease.ClassOf(err) != lease.Refuted {
		t.Errorf("asked again: %v, want refuted", err)
	}
	cover, err := b.consumer.Recall(t.Context(), benchScope, b.who)
	if err != nil || cover == nil || cover.Marker != good.Marker {
		t.Errorf("recall: %+v, %v, want the good one", cover, err)
	}
	manifest, _, err := choose(t.Context(), b.store, benchScope, "")
	if err != nil || manifest.Backup != good.Backup {
		t.Errorf("restore would take %v, %v, want %s", manifest, err, good.Backup)
	}
	b.fail(t, v, refuted)
	again, h := b.publishAgain(t)
	if again.Backup == published.Backup || h.item.Generation <= v.item.Generation {
		t.Errorf("after a refutation came %s of generation %s", again.Backup, h.item.Generation)
	}
}

// publishAgain runs the scope's item that is queued already.
func (b *bench) publishAgain(t *testing.T) (publication, *held) {
	t.Helper()
	h := b.hold(t, lease.Run)
	published, err := b.attempt(h, b.store).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return published, h
}

func TestWhatTheStoreShowsRefutes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	published, h := b.publish(t)
	whole := b.folder
	for name, test := range map[string]struct {
		damage func(folder string)
		level  string
		want   string // "": proven
	}{
		"whole":            {func(string) {}, levelHash, ""},
		"changed bytes":    {func(folder string) { flipByte(t, filepath.Join(folder, mainName), 300) }, levelHash, "SHA-256"},
		"no bytes read":    {func(folder string) { flipByte(t, filepath.Join(folder, mainName), 300) }, levelSize, ""},
		"object missing":   {func(folder string) { remove(t, filepath.Join(folder, mainName)) }, levelSize, "is missing"},
		"manifest missing": {func(folder string) { remove(t, filepath.Join(folder, manifestName)) }, levelSize, "manifest is missing"},
		"manifest changed": {func(folder string) { flipByte(t, filepath.Join(folder, manifestName), 100) }, levelSize, "changed or damaged"},
		"cut": {func(folder string) {
			if err := os.Truncate(filepath.Join(folder, mainName), 1000); err != nil {
				t.Fatal(err)
			}
		}, levelSize, "1000 bytes"},
	} {
		b.elsewhere(t)
		if err := os.CopyFS(b.folder, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		test.damage(filepath.Dir(b.path(t, published.Backup, manifestName)))
		judge := b.trial(h)
		judge.level, judge.about = test.level, published.reference
		var err error
		if judge.id, err = ParseID(published.Backup); err != nil {
			t.Fatal(err)
		}
		if judge.place, err = enter(t.Context(), b.store, "local", b.ledger); err != nil {
			t.Fatal(err)
		}
		_, err = judge.prove(t.Context())
		doubt := (*refutation)(nil)
		if refuted := errors.As(err, &doubt); refuted != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestObjectThatIsNoAgeFileIsRefuted(t *testing.T) {
	t.Parallel()
	st, err := store.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("PGDMP in the clear")
	if err := st.PutOnce(t.Context(), "app/x", body); err != nil {
		t.Fatal(err)
	}
	object := Object{Role: mainRole, Key: "x", Size: int64(len(body)), SHA256: hexSum(body)}
	err = checkObject(t.Context(), st, "app/x", object, func(int64) {})
	if doubt := (*refutation)(nil); !errors.As(err, &doubt) || doubt.reason != "x is no age file" {
		t.Errorf("got %v, want refuted", err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestStoreThatWentAwayRefutesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	published, h := b.publish(t)
	kept := b.folder
	b.elsewhere(t)
	v, err := b.verify(t, published, h)
	if lease.ClassOf(err) != lease.Blocked || !errors.Is(err, ledger.ErrUnreachable) {
		t.Errorf("got %v, want blocked and unreachable", err)
	}
	if files := b.files(t); len(files) > 0 {
		t.Errorf("written: %v", files)
	}
	// It goes away in the middle: the object is missing, and so is store.json.
	b.folder = kept
	if b.store, err = store.NewDir(kept); err != nil {
		t.Fatal(err)
	}
	remove(t, b.path(t, published.Backup, mainName))
	going := b.trial(v)
	if going.place, err = enter(t.Context(), b.store, "local", b.ledger); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(kept, storeKey))
	if err := going.refute(t.Context(), &refutation{"main.dump.zst.age is missing"}); lease.ClassOf(err) != lease.Blocked || !errors.Is(err, ledger.ErrUnreachable) {
		t.Errorf("got %v, want blocked and unreachable", err)
	}
	if slices.ContainsFunc(b.files(t), func(key string) bool { return strings.HasSuffix(key, refutedName) }) {
		t.Error("refuted.json was put")
	}
}

func TestStaleVerifierPutsNoProof(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	published, h := b.publish(t)
	h.lapsed = true
	result, err := published.result()
	if err != nil {
		t.Fatal(err)
	}
	stale := b.trial(h)
	if _, err := stale.run(t.Context(), func(string) (store.Store, error) { return b.store, nil }, result); !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v, want a lost lease", err)
	}
	flipByte(t, b.path(t, published.Backup, mainName), 300)
	if _, err := b.trial(h).run(t.Context(), func(string) (store.Store, error) { return b.store, nil }, result); !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v, want a lost lease", err)
	}
	for _, name := range []string{verifiedName, refutedName} {
		if _, err := os.Stat(b.path(t, published.Backup, name)); err == nil {
			t.Errorf("%s was put", name)
		}
	}
}

func TestRecallOfAStoreWithoutBackupsIsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if cover, err := b.consumer.Recall(t.Context(), benchScope, b.who); err != nil || cover != nil {
		t.Errorf("empty store: %+v, %v, want nothing", cover, err)
	}
	b.publish(t)
	if cover, err := b.consumer.Recall(t.Context(), benchScope, b.who); err != nil || cover != nil {
		t.Errorf("unverified: %+v, %v, want nothing", cover, err)
	}
	b.consumer.options.Store = func(string) (store.Store, error) { return store.NewDir("/nonexistent/store") }
	if _, err := b.consumer.Recall(t.Context(), benchScope, b.who); !errors.Is(err, ledger.ErrUnreachable) {
		t.Errorf("no store: %v, want unreachable", err)
	}
}
