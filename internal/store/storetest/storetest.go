// Package storetest is the contract that every object store has to pass: one suite,
// run by each store's own test against a real one.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store"
)

// Subject is a fresh, empty store and what only its own test can do to it.
type Subject struct {
	Store store.Store
	// Leftovers counts what the store holds beside its objects: hidden files, empty
	// folders, open uploads.
	Leftovers func(t testing.TB) int
	// Cut shortens an object behind the store's back; nil where nobody can.
	Cut func(t testing.TB, key string, size int64)
}

// Run holds a store to the contract. Open makes a subject for one test.
func Run(t *testing.T, open func(t testing.TB) Subject) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s Subject)
	}{
		{"CommitShowsWhatWasWritten", commitShowsWhatWasWritten},
		{"NothingIsVisibleBeforeCommit", nothingIsVisibleBeforeCommit},
		{"AbortLeavesNothing", abortLeavesNothing},
		{"AbortAfterCancelLeavesNothing", abortAfterCancelLeavesNothing},
		{"EndedContextCommitsNothing", endedContextCommitsNothing},
		{"EndedWriterTakesNothing", endedWriterTakesNothing},
		{"CommitNeverReplaces", commitNeverReplaces},
		{"PutOnceNeverReplaces", putOnceNeverReplaces},
		{"PutOnceRaceHasOneWinner", putOnceRaceHasOneWinner},
		{"CommitRaceHasOneWinner", commitRaceHasOneWinner},
		{"DistinctKeysDoNotMeet", distinctKeysDoNotMeet},
		{"ErrNotFound", errNotFound},
		{"EmptyObject", emptyObject},
		{"LargeObject", largeObject},
		{"CutObjectIsAReadError", cutObjectIsAReadError},
		{"ListIsInByteOrder", listIsInByteOrder},
		{"ListPagesByAfter", listPagesByAfter},
		{"ListPrefixIsNoFolder", listPrefixIsNoFolder},
		{"ListStopsWithItsReader", listStopsWithItsReader},
		{"ListEndsWithItsContext", listEndsWithItsContext},
		{"RemoveIsRepeatable", removeIsRepeatable},
		{"RemoveTakesOneObject", removeTakesOneObject},
		{"RemovedKeyIsFree", removedKeyIsFree},
		{"RemovalDisturbsNoWriter", removalDisturbsNoWriter},
		{"HostileKeysAreRefused", hostileKeysAreRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			test.run(t, s)
			if n := s.Leftovers(t); n != 0 {
				t.Errorf("%d leftovers", n)
			}
		})
	}
}

// create begins an object and writes a body into it.
func create(t *testing.T, s store.Store, ctx context.Context, key string, body []byte) store.Writer {
	t.Helper()
	w, err := s.Create(ctx, key, int64(len(body)))
	if err != nil {
		t.Fatalf("create %q: %v", key, err)
	}
	if n, err := w.Write(body); err != nil || n != len(body) {
		t.Fatalf("write %q: %d, %v", key, n, err)
	}
	return w
}

// put makes an object.
func put(t *testing.T, s store.Store, key string, body []byte) {
	t.Helper()
	if err := s.PutOnce(t.Context(), key, body); err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
}

// wantBody fails unless exactly this body stands under the key.
func wantBody(t *testing.T, s store.Store, key string, want []byte) {
	t.Helper()
	info, err := s.Stat(t.Context(), key)
	if err != nil || info.Key != key || info.Size != int64(len(want)) || info.Modified.IsZero() {
		t.Errorf("stat %q: got %+v, %v, want %d bytes", key, info, err, len(want))
	}
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Errorf("open %q: %v", key, err)
		return
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %q: got %d bytes, %v, want %d", key, len(got), err, len(want))
	}
	if err := r.Close(); err != nil {
		t.Errorf("close %q: %v", key, err)
	}
}

// wantNothing fails if anything stands under the key.
func wantNothing(t *testing.T, s store.Store, key string) {
	t.Helper()
	if _, err := s.Stat(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("stat %q: got %v, want ErrNotFound", key, err)
	}
	if keys := list(t, s, "", ""); len(keys) != 0 {
		t.Errorf("list: got %q, want nothing", keys)
	}
}

// list answers the keys of a listing.
func list(t *testing.T, s store.Store, prefix, after string) []string {
	t.Helper()
	var keys []string
	for info, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatalf("list %q after %q: %v", prefix, after, err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}
