package store_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/internal/store/storetest"
)

func TestDirKeepsTheContract(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, func(*store.Dir) {})
}

// Where the file system knows no files without a name.
func TestDirWithHiddenFilesKeepsTheContract(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, (*store.Dir).HideFiles)
}

func keepsTheContract(t *testing.T, change func(*store.Dir)) {
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		path := t.TempDir()
		d, err := store.NewDir(path)
		if err != nil {
			t.Fatal(err)
		}
		change(d)
		return storetest.Subject{
			Store:     d,
			Leftovers: func(t testing.TB) int { return leftovers(t, path) },
			Cut: func(t testing.TB, key string, size int64) {
				if err := os.Truncate(filepath.Join(path, key), size); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// A process that is killed while it writes leaves no bytes behind: what it wrote has
// no name yet. A folder that was pruned meanwhile is made again.
func TestDirFileHasNoNameBeforeCommit(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := store.NewDir(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := d.Create(t.Context(), "a/b/c", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("bytes")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(path, "a", "b")); err != nil {
		t.Errorf("the folder of an unfinished object is not empty: %v", err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(path, "a", "b", "c"))
	if err != nil || string(got) != "bytes" {
		t.Errorf("got %q, %v", got, err)
	}
}

// leftovers counts hidden files and empty folders.
func leftovers(t testing.TB, root string) int {
	t.Helper()
	count := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if entry.Name()[0] == '.' {
			count++
		}
		if entry.IsDir() {
			below, err := os.ReadDir(path)
			if err != nil {
				return err
			}
			if len(below) == 0 {
				count++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}
