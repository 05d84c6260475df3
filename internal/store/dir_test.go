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
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		path := t.TempDir()
		d, err := store.NewDir(path)
		if err != nil {
			t.Fatal(err)
		}
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
