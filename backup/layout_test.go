package backup

import (
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

const benchLedger = "0b9c2d4e-1f60-4a7b-8c9d-0e1f2a3b4c5d"

func TestBackupIDIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 19, 30, 5, 999, time.FixedZone("", 3600))
	id, err := newID(at, benchLedger, lease.NewSerial(3, 42), lease.NewSerial(3, 17))
	if err != nil {
		t.Fatal(err)
	}
	text := id.String()
	if want := "20261130T183005Z-0b9c2d4e-3-42-17-" + id.Random; text != want || len(id.Random) != 8 {
		t.Errorf("got %s, want %s", text, want)
	}
	again, err := ParseID(text)
	if err != nil || again != id {
		t.Errorf("got %+v, %v, want %+v", again, err, id)
	}
	if key := id.key("app", manifestName); key != "app/2026/11/"+text+"/manifest.json" {
		t.Errorf("key %s", key)
	}
	scope, same, name, ok := splitKey(id.key("app", mainName))
	if !ok || scope != "app" || same != id || name != mainName {
		t.Errorf("split key: %s %v %s %v", scope, same, name, ok)
	}
}

func TestBackupIDOfAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"",
		"20261130T183005Z-0b9c2d4e-3-42-17",
		"20261130T183005Z-0b9c2d4e-3-42-17-0011223",
		"20261130T183005Z-0B9C2D4E-3-42-17-00112233",
		"20261130T183005Z-0b9c2d4e-03-42-17-00112233",
		"20261130T183005Z-0b9c2d4e-3--42-17-00112233",
		"20261131T183005Z-0b9c2d4e-3-42-17-00112233",
		"20261130T183005Z-0b9c2d4e-3-42-17-0011223/",
		"20261130T183005Z-0b9c2d4e-3-42-99999999999999999999-00112233",
	} {
		if id, err := ParseID(text); err == nil {
			t.Errorf("%q was read as %+v", text, id)
		}
	}
}

func TestNewerIsToldByGenerationNeverByTime(t *testing.T) {
	t.Parallel()
	early, late := time.Unix(0, 0), time.Unix(1e9, 0)
	old := ID{At: late, Generation: lease.NewSerial(1, 5), Fence: lease.NewSerial(1, 90)}
	adopted := ID{At: early, Generation: lease.NewSerial(2, 1), Fence: lease.NewSerial(2, 1)}
	retried := ID{At: early, Generation: lease.NewSerial(2, 1), Fence: lease.NewSerial(2, 2)}
	if !adopted.newer(old) || old.newer(adopted) {
		t.Error("a higher epoch is not newer")
	}
	if !retried.newer(adopted) || adopted.newer(retried) {
		t.Error("a later attempt at the same generation is not newer")
	}
}

func TestKeysOutsideTheLayoutAreNotSplit(t *testing.T) {
	t.Parallel()
	id := "20261130T183005Z-0b9c2d4e-3-42-17-00112233"
	for _, key := range []string{
		"store.json", "app/owners/0001.json", "app/2026/11/" + id, "app/2026/12/" + id + "/manifest.json",
		"app/2026/11/" + id + "/x/manifest.json", "app/2026/11/other/manifest.json",
	} {
		if _, _, _, ok := splitKey(key); ok {
			t.Errorf("%s was split", key)
		}
	}
}

func TestNamesThatLeadOutOfAFolderAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "..", "../x", "a/b", ".hidden", "manifest.json", "Main", "a\nb"} {
		if objectName(name) {
			t.Errorf("object name %q is accepted", name)
		}
	}
	for _, name := range []string{"main.dump.zst.age", "data-001.dump.zst.age", "globals.sql.zst.age"} {
		if !objectName(name) {
			t.Errorf("object name %q is refused", name)
		}
	}
	for _, scope := range []string{"", "..", "a/b", "A", "-a", "a b"} {
		if checkScope(scope) == nil {
			t.Errorf("scope %q is accepted", scope)
		}
	}
}
