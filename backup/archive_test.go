package backup

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

func TestArchiveIsWrittenWholeAndOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	b.backup(t)
	out := filepath.Join(t.TempDir(), "archive")
	report, err := b.restore(t, RestoreOptions{Output: out})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(out)
	if err != nil || info.Mode() != 0o600 || info.Size() != report.Bytes {
		t.Errorf("file %v, %v, report %+v", info, err, report)
	}
	if list := shell(t, "", "pg_restore", "-l", out); !strings.Contains(list, "TABLE DATA public kept") {
		t.Errorf("contents: %s", list)
	}
	if _, err := b.restore(t, RestoreOptions{Output: out}); !errors.Is(err, os.ErrExist) {
		t.Errorf("again: %v, want that it is there", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); !slices.Equal(left, []string{out}) {
		t.Errorf("left behind: %v", left)
	}
	var text strings.Builder
	if _, err := b.restore(t, RestoreOptions{Archive: &text}); err != nil || int64(text.Len()) != info.Size() {
		t.Errorf("to a writer: %d bytes, %v", text.Len(), err)
	}
}

func TestArchiveHoldsItsEndBackUntilItIsProven(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	published := b.backup(t)
	id, err := ParseID(published.Backup)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := readManifest(t.Context(), b.store, benchScope, id)
	if err != nil {
		t.Fatal(err)
	}
	read := func(object Object) (string, error) {
		a, err := openArchive(t.Context(), b.store, id.key(benchScope, mainName), object, []age.Identity{b.key})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		var text strings.Builder
		_, err = io.Copy(&text, a)
		return text.String(), err
	}
	whole, err := read(m.main())
	if err != nil || !strings.HasPrefix(whole, dumpMagic) {
		t.Fatalf("%d bytes, %v", len(whole), err)
	}
	// Another object than the one that was checked, though it opens with the same key.
	changed := m.main()
	changed.SHA256 = strings.Repeat("00", 32)
	part, err := read(changed)
	if doubt := (*refutation)(nil); !errors.As(err, &doubt) || len(part) != len(whole)-1 {
		t.Errorf("read %d of %d bytes, %v", len(part), len(whole), err)
	}
}
