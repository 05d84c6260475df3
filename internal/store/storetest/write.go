package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store"
)

const key = "app/2026/11/one/main.dump"

func commitShowsWhatWasWritten(t *testing.T, s Subject) {
	body := []byte("what was written")
	w := create(t, s.Store, t.Context(), key, body[:5])
	if _, err := w.Write(body[5:]); err != nil {
		t.Fatal(err)
	}
	info, err := w.Commit(t.Context())
	if err != nil || info.Key != key || info.Size != int64(len(body)) {
		t.Errorf("commit: got %+v, %v", info, err)
	}
	if again, err := s.Store.Stat(t.Context(), key); err != nil || again != info {
		t.Errorf("stat: got %+v, %v, want %+v", again, err, info)
	}
	wantBody(t, s.Store, key, body)
}

func nothingIsVisibleBeforeCommit(t *testing.T, s Subject) {
	w := create(t, s.Store, t.Context(), key, []byte("half"))
	wantNothing(t, s.Store, key)
	if _, err := s.Store.Open(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("open: got %v, want ErrNotFound", err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantBody(t, s.Store, key, []byte("half"))
}

func abortLeavesNothing(t *testing.T, s Subject) {
	w := create(t, s.Store, t.Context(), key, []byte("half"))
	if err := w.Abort(t.Context()); err != nil {
		t.Errorf("abort: %v", err)
	}
	wantNothing(t, s.Store, key)
	if n := s.Leftovers(t); n != 0 {
		t.Errorf("%d leftovers", n)
	}
	put(t, s.Store, key, []byte("whole"))
	wantBody(t, s.Store, key, []byte("whole"))
}

func abortAfterCancelLeavesNothing(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(t.Context())
	w := create(t, s.Store, ctx, key, []byte("half"))
	cancel()
	if err := w.Abort(context.WithoutCancel(ctx)); err != nil {
		t.Errorf("abort: %v", err)
	}
	wantNothing(t, s.Store, key)
}

func endedContextCommitsNothing(t *testing.T, s Subject) {
	cause := errors.New("the lease is lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := create(t, s.Store, ctx, key, []byte("whole"))
	cancel(cause)
	if _, err := w.Commit(ctx); !errors.Is(err, cause) {
		t.Errorf("commit: got %v, want the cause", err)
	}
	if err := w.Abort(context.WithoutCancel(ctx)); err != nil {
		t.Errorf("abort after a failed commit: %v", err)
	}
	if err := s.Store.PutOnce(ctx, key, nil); !errors.Is(err, cause) {
		t.Errorf("put: got %v, want the cause", err)
	}
	wantNothing(t, s.Store, key)
}

func endedWriterTakesNothing(t *testing.T, s Subject) {
	committed := create(t, s.Store, t.Context(), key, []byte("whole"))
	if _, err := committed.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	aborted := create(t, s.Store, t.Context(), key+"2", []byte("half"))
	if err := aborted.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]store.Writer{"committed": committed, "aborted": aborted} {
		if _, err := w.Write([]byte("more")); err == nil {
			t.Errorf("the %s writer took more", name)
		}
		if _, err := w.Commit(t.Context()); err == nil {
			t.Errorf("the %s writer was committed again", name)
		}
		if err := w.Abort(t.Context()); err != nil {
			t.Errorf("abort of the %s writer: %v", name, err)
		}
	}
	wantBody(t, s.Store, key, []byte("whole"))
}

func commitNeverReplaces(t *testing.T, s Subject) {
	put(t, s.Store, key, []byte("first"))
	w := create(t, s.Store, t.Context(), key, []byte("second"))
	if _, err := w.Commit(t.Context()); !errors.Is(err, store.ErrExists) {
		t.Errorf("commit: got %v, want ErrExists", err)
	}
	wantBody(t, s.Store, key, []byte("first"))
}

func putOnceNeverReplaces(t *testing.T, s Subject) {
	put(t, s.Store, key, []byte("first"))
	if err := s.Store.PutOnce(t.Context(), key, []byte("second")); !errors.Is(err, store.ErrExists) {
		t.Errorf("put: got %v, want ErrExists", err)
	}
	wantBody(t, s.Store, key, []byte("first"))
}

const racers = 16

func putOnceRaceHasOneWinner(t *testing.T, s Subject) {
	race(t, s, func(body []byte) error { return s.Store.PutOnce(t.Context(), key, body) })
}

func commitRaceHasOneWinner(t *testing.T, s Subject) {
	race(t, s, func(body []byte) error {
		w, err := s.Store.Create(t.Context(), key, 0)
		if err != nil {
			return err
		}
		if _, err := w.Write(body); err != nil {
			return err
		}
		_, err = w.Commit(t.Context())
		return err
	})
}

// race lets all act at once: one wins, what stands is the winner's, and everybody
// else is told that something stood there.
func race(t *testing.T, s Subject, act func(body []byte) error) {
	t.Helper()
	var start, end sync.WaitGroup
	start.Add(1)
	answers := make([]error, racers)
	for n := range racers {
		end.Go(func() {
			start.Wait()
			answers[n] = act(fmt.Appendf(nil, "racer %d", n))
		})
	}
	start.Done()
	end.Wait()
	winner := -1
	for n, err := range answers {
		switch {
		case err == nil && winner >= 0:
			t.Errorf("both %d and %d won", winner, n)
		case err == nil:
			winner = n
		case !errors.Is(err, store.ErrExists):
			t.Errorf("racer %d: got %v, want ErrExists", n, err)
		}
	}
	if winner < 0 {
		t.Fatal("nobody won")
	}
	wantBody(t, s.Store, key, fmt.Appendf(nil, "racer %d", winner))
}

func distinctKeysDoNotMeet(t *testing.T, s Subject) {
	var writers sync.WaitGroup
	name := func(n int) string { return fmt.Sprintf("app/%d/object-%d", n%3, n) }
	for n := range racers {
		writers.Go(func() {
			w, err := s.Store.Create(t.Context(), name(n), 0)
			if err != nil {
				t.Error(err)
				return
			}
			for range 100 {
				if _, err := fmt.Fprintf(w, "line of %d\n", n); err != nil {
					t.Error(err)
				}
			}
			if _, err := w.Commit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	for n := range racers {
		var want []byte
		for range 100 {
			want = fmt.Appendf(want, "line of %d\n", n)
		}
		wantBody(t, s.Store, name(n), want)
	}
}

func emptyObject(t *testing.T, s Subject) {
	put(t, s.Store, "app/put", nil)
	w, err := s.Store.Create(t.Context(), "app/committed", 0)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := w.Commit(t.Context()); err != nil || info.Size != 0 {
		t.Errorf("commit: got %+v, %v", info, err)
	}
	wantBody(t, s.Store, "app/put", nil)
	wantBody(t, s.Store, "app/committed", nil)
}

// largeSize is larger than any buffer or part on the way, and no multiple of one.
const largeSize = 24<<20 + 12345

func largeObject(t *testing.T, s Subject) {
	w, err := s.Store.Create(t.Context(), key, largeSize)
	if err != nil {
		t.Fatal(err)
	}
	written := sha256.New()
	source := io.LimitReader(rand.NewChaCha8([32]byte{1}), largeSize)
	if n, err := io.Copy(io.MultiWriter(w, written), source); err != nil || n != largeSize {
		t.Fatalf("write: %d, %v", n, err)
	}
	if info, err := w.Commit(t.Context()); err != nil || info.Size != largeSize {
		t.Fatalf("commit: got %+v, %v", info, err)
	}
	r, err := s.Store.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := sha256.New()
	if n, err := io.Copy(read, r); err != nil || n != largeSize {
		t.Errorf("read: %d, %v", n, err)
	}
	if got, want := read.Sum(nil), written.Sum(nil); string(got) != string(want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
