package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
)

func errNotFound(t *testing.T, s Subject) {
	put(t, s.Store, "app/there", []byte("x"))
	for _, missing := range []string{"app/missing", "nowhere/at/all", "app", "ap", "app/there/below"} {
		if _, err := s.Store.Stat(t.Context(), missing); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("stat %q: got %v", missing, err)
		}
		if _, err := s.Store.Open(t.Context(), missing); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("open %q: got %v", missing, err)
		}
	}
	if keys := list(t, s.Store, "nowhere/at/", ""); len(keys) != 0 {
		t.Errorf("list: got %q", keys)
	}
}

func cutObjectIsAReadError(t *testing.T, s Subject) {
	if s.Cut == nil {
		t.Skip("nobody can cut an object of this store")
	}
	// Larger than what lies between a store and its reader: none of it was read yet.
	w := create(t, s.Store, t.Context(), key, make([]byte, 16<<20))
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Store.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.Cut(t, key, 5000)
	n, err := io.Copy(io.Discard, r)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %d bytes, %v, want an error that is no end", n, err)
	}
}

// awkward are keys, in byte order, that a walk by folders would give in another. None
// lies below another: a folder cannot hold that.
var awkward = []string{
	"a!", "a-b/1", "a-b/2", "a.b", "a/b", "a/b-c", "a/b.c/d", "a0", "aa/b", "ab", "Ä/ö",
}

func listIsInByteOrder(t *testing.T, s Subject) {
	keys := slices.Clone(awkward)
	slices.Reverse(keys)
	for _, key := range keys {
		put(t, s.Store, key, []byte(key))
	}
	if got := list(t, s.Store, "", ""); !slices.Equal(got, awkward) {
		t.Errorf("got %q\nwant %q", got, awkward)
	}
	for at, after := range awkward {
		if got := list(t, s.Store, "", after); !slices.Equal(got, awkward[at+1:]) {
			t.Errorf("after %q: got %q, want %q", after, got, awkward[at+1:])
		}
	}
	for info, err := range s.Store.List(t.Context(), "", "") {
		if err != nil || info.Size != int64(len(info.Key)) || info.Modified.IsZero() {
			t.Errorf("got %+v, %v", info, err)
		}
	}
}

func listPagesByAfter(t *testing.T, s Subject) {
	const many = 1100 // more than one page of a bucket's listing
	var want []string
	for n := range many {
		key := fmt.Sprintf("app/%02d/%04d", n/100, n)
		put(t, s.Store, key, nil)
		want = append(want, key)
	}
	if got := list(t, s.Store, "app/", ""); !slices.Equal(got, want) {
		t.Errorf("got %d keys, want %d", len(got), many)
	}
	var paged []string
	for after := ""; ; {
		page := 0
		for info, err := range s.Store.List(t.Context(), "app/", after) {
			if err != nil {
				t.Fatal(err)
			}
			paged = append(paged, info.Key)
			if page++; page == 97 {
				break
			}
		}
		if page == 0 {
			break
		}
		after = paged[len(paged)-1]
	}
	if !slices.Equal(paged, want) {
		t.Errorf("in pages: got %d keys, want %d", len(paged), many)
	}
	// A key to start after need not exist.
	if got := list(t, s.Store, "app/", "app/05/0549x"); !slices.Equal(got, want[550:]) {
		t.Errorf("after a missing key: got %d keys, want %d", len(got), many-550)
	}
}

func listPrefixIsNoFolder(t *testing.T, s Subject) {
	for _, key := range awkward {
		put(t, s.Store, key, nil)
	}
	for _, prefix := range []string{"a", "a-", "a/", "a/b", "a/b.", "a/b.c/", "aa", "b", "a/b.c/d", "a/b.c/d/"} {
		var want []string
		for _, key := range awkward {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		if got := list(t, s.Store, prefix, ""); !slices.Equal(got, want) {
			t.Errorf("prefix %q: got %q, want %q", prefix, got, want)
		}
	}
}

func listStopsWithItsReader(t *testing.T, s Subject) {
	for _, key := range awkward {
		put(t, s.Store, key, nil)
	}
	for info, err := range s.Store.List(t.Context(), "", "") {
		if err != nil || info.Key != awkward[0] {
			t.Errorf("got %q, %v", info.Key, err)
		}
		break // an iterator that goes on panics here
	}
}

// listEndsWithItsContext: a listing that breaks off must not look whole, or empty.
func listEndsWithItsContext(t *testing.T, s Subject) {
	for _, key := range awkward {
		put(t, s.Store, key, nil)
	}
	cause := errors.New("no time left")
	for _, seen := range []int{0, 3} {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if seen == 0 {
			cancel(cause)
		}
		var last error
		got := 0
		for _, err := range s.Store.List(ctx, "", "") {
			if last = err; err == nil {
				got++
			}
			if got == seen {
				cancel(cause)
			}
		}
		if !errors.Is(last, cause) || got != seen {
			t.Errorf("got %d objects, %v, want %d and the cause", got, last, seen)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var last error
	for _, err := range s.Store.List(ctx, "nothing/here/", "") {
		last = err
	}
	if !errors.Is(last, cause) {
		t.Errorf("of nothing: got %v, want the cause", last)
	}
}

// hostile keys lead out of the store, into its own names, or nowhere.
var hostile = []string{
	"", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", ".", "./a", "a/./b", "a//b", "a/", "/a",
	".hidden", "a/.hidden", "a\x00b", "a\nb", "a\x7fb", "a\x1b[31m", "a\xffb", strings.Repeat("a", 256),
	strings.Repeat("abcdefg/", 128) + "a",
}

func hostileKeysAreRefused(t *testing.T, s Subject) {
	refused := func(what, key string, err error) {
		t.Helper()
		if err == nil || errors.Is(err, store.ErrNotFound) || lease.ClassOf(err) != lease.Permanent {
			t.Errorf("%s %q: got %v", what, key, err)
		}
	}
	for _, key := range hostile {
		_, err := s.Store.Create(t.Context(), key, 0)
		refused("create", key, err)
		refused("put", key, s.Store.PutOnce(t.Context(), key, nil))
		_, err = s.Store.Stat(t.Context(), key)
		refused("stat", key, err)
		_, err = s.Store.Open(t.Context(), key)
		refused("open", key, err)
		refused("remove", key, s.Store.Remove(t.Context(), key))
	}
	for _, prefix := range []string{"/", "../", "..", "a/../", "a//", ".", "a\x00"} {
		var last error
		for _, err := range s.Store.List(t.Context(), prefix, "") {
			last = err
		}
		refused("list", prefix, last)
	}
	if keys := list(t, s.Store, "", ""); len(keys) != 0 {
		t.Errorf("list: got %q", keys)
	}
}
