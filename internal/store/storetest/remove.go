package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store"
)

func removeIsRepeatable(t *testing.T, s Subject) {
	put(t, s.Store, key, []byte("x"))
	for range 2 {
		if err := s.Store.Remove(t.Context(), key); err != nil {
			t.Errorf("remove: %v", err)
		}
		wantNothing(t, s.Store, key)
	}
	if err := s.Store.Remove(t.Context(), "never/was/there"); err != nil {
		t.Errorf("remove what never was: %v", err)
	}
}

func removeTakesOneObject(t *testing.T, s Subject) {
	for _, key := range awkward {
		put(t, s.Store, key, nil)
	}
	// Neither a folder nor a prefix nor what lies below an object is an object.
	for _, key := range []string{"a", "a/b.c", "a-b", "ab/c"} {
		if err := s.Store.Remove(t.Context(), key); err != nil {
			t.Errorf("remove %q: %v", key, err)
		}
	}
	if got := list(t, s.Store, "", ""); !slices.Equal(got, awkward) {
		t.Errorf("got %q, want %q", got, awkward)
	}
	if err := s.Store.Remove(t.Context(), "a/b.c/d"); err != nil {
		t.Errorf("remove: %v", err)
	}
	want := slices.DeleteFunc(slices.Clone(awkward), func(key string) bool { return key == "a/b.c/d" })
	if got := list(t, s.Store, "", ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func removedKeyIsFree(t *testing.T, s Subject) {
	put(t, s.Store, key, []byte("first"))
	if err := s.Store.Remove(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	put(t, s.Store, key, []byte("second"))
	wantBody(t, s.Store, key, []byte("second"))
}

// removalDisturbsNoWriter lets objects come and go beside each other: whoever wrote
// one finds it, although its neighbours take their folders along.
func removalDisturbsNoWriter(t *testing.T, s Subject) {
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for turn := range 50 {
				mine := fmt.Sprintf("app/deep/down/%d-%d", n, turn)
				if err := s.Store.PutOnce(t.Context(), mine, []byte(mine)); err != nil {
					t.Errorf("put %q: %v", mine, err)
					return
				}
				if _, err := s.Store.Stat(t.Context(), mine); err != nil {
					t.Errorf("stat %q: %v", mine, err)
				}
				if err := s.Store.Remove(t.Context(), mine); err != nil {
					t.Errorf("remove %q: %v", mine, err)
				}
				if _, err := s.Store.Stat(t.Context(), mine); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("stat of a removed one: %v", err)
				}
			}
		})
	}
	all.Wait()
	if keys := list(t, s.Store, "", ""); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
}
