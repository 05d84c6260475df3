package backup

import (
	"errors"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestScopeMayBeLeftOutWhereThereIsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := List(t.Context(), b.store, ""); err == nil || !strings.Contains(err.Error(), "holds no backups") {
		t.Errorf("empty store: %v", err)
	}
	if _, err := List(t.Context(), b.store, benchScope); !errors.Is(err, ledger.ErrUnreachable) {
		t.Errorf("folder that is no store: %v", err)
	}
	b.small(t)
	published := b.backup(t)
	if list, err := List(t.Context(), b.store, "another"); err != nil || len(list) > 0 {
		t.Errorf("scope without backups: %v, %v", list, err)
	}
	list, err := List(t.Context(), b.store, "")
	if err != nil || len(list) != 1 || list[0].Backup != published.Backup || list[0].Scope != benchScope {
		t.Errorf("got %+v, %v", list, err)
	}
	for _, key := range []string{"app-b/owners/0001.json", "_files/app/00/00"} {
		if err := b.store.PutOnce(t.Context(), key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := List(t.Context(), b.store, ""); err == nil || !strings.Contains(err.Error(), "several: app-b, app") && !strings.Contains(err.Error(), "several: app, app-b") {
		t.Errorf("two scopes: %v", err)
	}
}

func TestListTellsTheStateOfEachBackup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	verified := b.backup(t)
	refuted, h := b.publish(t)
	remove(t, b.path(t, refuted.Backup, mainName))
	v, err := b.verify(t, refuted, h)
	b.fail(t, v, err)
	unverified, h := b.publishAgain(t)
	b.fail(t, h, lease.WithClass(lease.Permanent, errors.New("enough")))
	b.observe(t)
	dead := b.attempt(b.hold(t, lease.Run), b.store)
	_ = dead.draw(t.Context())
	if err := putRecord(t.Context(), b.store, dead.id.key(benchScope, manifestName), dead.closing(dead.id)); err != nil {
		t.Fatal(err)
	}
	half := dead.id
	half.Random = "ffffffff"
	if err := b.store.PutOnce(t.Context(), half.key(benchScope, mainName), []byte("x")); err != nil {
		t.Fatal(err)
	}
	list, err := List(t.Context(), b.store, benchScope)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]State{}
	for _, one := range list {
		got[one.Backup] = one.State
	}
	for backup, want := range map[string]State{
		verified.Backup: Verified, refuted.Backup: Refuted, unverified.Backup: Unverified,
		dead.id.String(): Closed, half.String(): Incomplete,
	} {
		if got[backup] != want {
			t.Errorf("%s is %s, want %s", backup, got[backup], want)
		}
	}
	if manifest, _, err := choose(t.Context(), b.store, benchScope, ""); err != nil || manifest.Backup != verified.Backup {
		t.Errorf("newest verified: %v, %v", manifest, err)
	}
	if _, _, err := choose(t.Context(), b.store, benchScope, dead.id.String()); err == nil {
		t.Error("a closed attempt was chosen")
	}
	if manifest, _, err := choose(t.Context(), b.store, benchScope, unverified.Backup); err != nil || manifest == nil {
		t.Errorf("unverified by its id: %v", err)
	}
}
