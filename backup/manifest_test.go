package backup

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/canon"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

//go:embed testdata/manifest.json
var goldenManifest string

const goldenID = "20261130T183005Z-0b9c2d4e-1-42-17-00112233"

func sampleManifest(t *testing.T) *Manifest {
	t.Helper()
	m := &Manifest{
		Format: 1, Backup: goldenID, Ledger: benchLedger, Environment: "production", Scope: "app", WorkType: WorkType,
		Generation: lease.NewSerial(1, 42), Item: 42, Claims: 1, Fence: lease.NewSerial(1, 17),
		Head: "sha256:dreamnet-sorted-json:v0:00", Ticket: lease.NewSerial(1, 903),
		Marker:     json.RawMessage(`{"v":"pgm1","id":"7714048596136070084/16384/00000001/15"}`),
		TakenAt:    stamp(time.Date(2026, 11, 30, 18, 30, 5, 123456789, time.UTC)),
		Server:     ServerFacts{Version: 150018, SystemIdentifier: "7714048596136070084", Database: "app", Encoding: "UTF8", Collation: "C.UTF-8"},
		Dump:       DumpFacts{Version: 150018, Compression: "zstd:3", Jobs: 1},
		Extensions: map[string]string{"plpgsql": "1.0", "hstore": "1.8"},
		Recipients: []string{"aa"},
		Objects: []Object{{
			Role: mainRole, Key: mainName, Size: 123456,
			SHA256: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		}},
		Restore: restoreLine, Program: "v1.2.3",
	}
	if err := m.seal(); err != nil {
		t.Fatal(err)
	}
	return m
}

// put stores a text at the sample's manifest key and reads it back as a manifest.
func put(t *testing.T, text string) (*Manifest, *closed, error) {
	t.Helper()
	st, err := store.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id, err := ParseID(goldenID)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.PutOnce(t.Context(), id.key("app", manifestName), []byte(text)); err != nil {
		t.Fatal(err)
	}
	return readManifest(t.Context(), st, "app", id)
}

// The bytes of format 1. Backups in this form are out in the world: a change here
// needs a new format, and a reader for both.
func TestManifestHasTheBytesOfItsFormat(t *testing.T) {
	t.Parallel()
	m := sampleManifest(t)
	text, err := canon.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSuffix(goldenManifest, "\n")
	if got := strings.Replace(string(text), m.Digest, "DIGEST", 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	bare := strings.Replace(want, `"digest":"DIGEST",`, "", 1)
	if digest := canon.DigestBytes([]byte(bare)); digest != m.Digest {
		t.Errorf("digest %s does not cover the object without it, want %s", m.Digest, digest)
	}
}

func TestManifestIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	text, err := canon.Marshal(sampleManifest(t))
	if err != nil {
		t.Fatal(err)
	}
	m, end, err := put(t, string(text))
	if err != nil || end != nil {
		t.Fatalf("read: %v, %v", end, err)
	}
	again, err := canon.Marshal(m)
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("got  %s, %v\nwant %s", again, err, text)
	}
}

func TestManifestThatWasChangedIsRefused(t *testing.T) {
	t.Parallel()
	text, err := canon.Marshal(sampleManifest(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a value":            {`"size":123456`, `"size":123457`},
		"an unknown member":  {`{"backup"`, `{"added":1,"backup"`},
		"a missing member":   {`"claims":1,`, ``},
		"a member twice":     {`{"backup"`, `{"claims":1,"backup"`},
		"another spelling":   {`"claims"`, `"Claims"`},
		"a time with offset": {`05.123456Z`, `05.123456+00:00`},
		"a cut text":         {`"work_type":"heyaira-backup"}`, ``},
		"no JSON":            {`{"backup"`, `<html>`},
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, _, err := put(t, changed); !errors.Is(err, errUnreadable) {
			t.Errorf("%s: %v, want unreadable", name, err)
		}
	}
}

func TestManifestThatPointsElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *Manifest){
		"a key that leads out":  func(m *Manifest) { m.Objects[0].Key = "../../store.json" },
		"a record as an object": func(m *Manifest) { m.Objects[0].Key = verifiedName },
		"no main object":        func(m *Manifest) { m.Objects[0].Role = "globals" },
		"another scope":         func(m *Manifest) { m.Scope = "other" },
		"another ledger":        func(m *Manifest) { m.Ledger = "1" + benchLedger[1:] },
		"another generation":    func(m *Manifest) { m.Generation++ },
		"no bytes":              func(m *Manifest) { m.Objects[0].Size = 0 },
		"an object twice":       func(m *Manifest) { m.Objects = append(m.Objects, m.Objects[0]) },
	} {
		m := sampleManifest(t)
		change(m)
		if err := m.seal(); err != nil {
			t.Fatal(err)
		}
		text, err := canon.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := put(t, string(text)); !errors.Is(err, errUnreadable) {
			t.Errorf("%s: %v, want unreadable", name, err)
		}
	}
}

func TestNewerManifestIsRefusedByName(t *testing.T) {
	t.Parallel()
	_, _, err := put(t, `{"format":2,"whatever":true}`)
	if !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), "has format 2, this program reads format 1") {
		t.Errorf("got %v, want a refusal that names the format", err)
	}
}

func TestClosedAttemptIsNoManifest(t *testing.T) {
	t.Parallel()
	text, err := canon.Marshal(closed{Format: 1, Backup: goldenID, Ledger: benchLedger, Closed: stamp(time.Unix(0, 1500)), By: "h1:1:0011223344556677"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"backup":"` + goldenID + `","by":"h1:1:0011223344556677","closed":"1970-01-01T00:00:00.000001Z","format":1,"ledger":"` + benchLedger + `"}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	m, end, err := put(t, string(text))
	if err != nil || m != nil || end == nil || end.By != "h1:1:0011223344556677" {
		t.Errorf("got %v, %v, %v, want the closing record", m, end, err)
	}
}
