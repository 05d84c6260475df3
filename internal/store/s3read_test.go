package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/lease"
)

// stored is a bucket with one object in it.
func stored(t *testing.T, size int) (*r2test.Server, *S3, []byte) {
	t.Helper()
	server, s := bucket(t, r2test.Options{})
	body := noise(size)
	server.Put(t, "prod/"+key, body)
	return server, s, body
}

func TestBrokenDownloadIsReadOn(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]r2test.Fault{
		"at once":      {Times: 3, Effect: r2test.Truncate(0)},
		"on the way":   {Times: 3, Effect: r2test.Truncate(100_001)},
		"at the end":   {Times: 3, Effect: r2test.Truncate(599_999)},
		"every time":   {Times: r2test.Always, Effect: r2test.Truncate(200_000)},
		"reset":        {Times: 2, Effect: r2test.Reset()},
		"stalled":      {Times: 1, Effect: r2test.StallAfter(300_000)},
		"never begun":  {Times: 1, Effect: r2test.Stall()},
		"slow":         {Times: 1, Effect: r2test.Slow(100_000, 10*time.Millisecond)},
		"503 then on":  {Times: 2, Effect: r2test.Answer(http.StatusServiceUnavailable, "SlowDown")},
		"500 for more": {Skip: 1, Times: 2, Effect: r2test.Answer(http.StatusInternalServerError, "InternalError")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s, body := stored(t, 600_000)
			s.wire.silence = 300 * time.Millisecond
			if fault.Skip > 0 {
				server.Inject(r2test.Fault{Op: "GetObject", Effect: r2test.Truncate(10)})
				fault.Skip = 0
			}
			fault.Op = "GetObject"
			server.Inject(fault)
			got, err := readAll(t, s, key)
			if err != nil || !bytes.Equal(got, body) {
				t.Fatalf("got %d bytes, %v, want %d", len(got), err, len(body))
			}
			for n, r := range server.Requests("GetObject") {
				if ranged := r.Header.Get("Range") != ""; ranged != (r.Header.Get("If-Match") != "") {
					t.Errorf("request %d asks for range %q, If-Match %q", n, r.Header.Get("Range"), r.Header.Get("If-Match"))
				}
			}
		})
	}
}

// TestDownloadThatDoesNotEndIsReported: an early end is never the end, not even in the
// words of package io.
func TestDownloadThatDoesNotEndIsReported(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]r2test.Effect{
		"truncated": r2test.Truncate(0),
		"500":       r2test.Answer(http.StatusInternalServerError, "InternalError"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s, body := stored(t, 600_000)
			hasty(s)
			server.Inject(
				r2test.Fault{Op: "GetObject", Effect: r2test.Truncate(400_000)},
				r2test.Fault{Op: "GetObject", Times: r2test.Always, Effect: effect},
			)
			got, err := readAll(t, s, key)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the error is an end: %v", err)
			}
			wantClass(t, err, lease.Transient, "")
			if !bytes.HasPrefix(body, got) {
				t.Error("what was read before is not what was stored")
			}
		})
	}
}

func TestReplacedObjectIsNotReadOn(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprintf("gone=%v", gone), func(t *testing.T) {
			t.Parallel()
			server, s, body := stored(t, 600_000)
			server.Inject(r2test.Fault{Op: "GetObject", Effect: r2test.Truncate(100_000)})
			r, err := s.Open(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			if gone {
				err = s.Remove(t.Context(), key)
			} else {
				server.Put(t, "prod/"+key, body) // the same bytes, another object
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); !errors.Is(err, errChanged) {
				t.Errorf("got %v, want that it was replaced", err)
			}
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, errChanged) {
				t.Errorf("after that: got %v", err)
			}
		})
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server, s, _ := stored(t, 600_000)
	server.Inject(r2test.Fault{Op: "GetObject", Effect: r2test.StallAfter(100_000)})
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := s.Open(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() { cancel(lease.ErrLost) })
	_, err = r.Read(make([]byte, 1))
	wantClass(t, err, lease.LostClass, "")
}

// TestSlowReaderIsNoStall: nobody waits for a byte between two reads.
func TestSlowReaderIsNoStall(t *testing.T) {
	t.Parallel()
	server, s, body := stored(t, 600_000)
	s.wire.silence = 100 * time.Millisecond
	r, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first := make([]byte, 1000)
	if _, err := io.ReadFull(r, first); err != nil {
		t.Fatal(err)
	}
	<-time.After(300 * time.Millisecond)
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(append(first, rest...), body) {
		t.Errorf("got %d bytes, %v", len(rest), err)
	}
	if n := len(server.Requests("GetObject")); n > 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

func TestOpenRange(t *testing.T) {
	t.Parallel()
	server, s, body := stored(t, 200_000)
	for _, at := range [][2]int64{{0, 1}, {0, 200_000}, {7, 100_000}, {199_999, 1}} {
		server.Inject(r2test.Fault{Op: "GetObject", Effect: r2test.Truncate(5)})
		r, err := s.OpenRange(t.Context(), key, at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, body[at[0]:at[0]+at[1]]) {
			t.Errorf("range %v: got %d bytes, %v", at, len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, at := range [][2]int64{{-1, 5}, {0, 0}, {0, 200_001}, {200_000, 1}} {
		if r, err := s.OpenRange(t.Context(), key, at[0], at[1]); err == nil {
			t.Errorf("range %v: no error", at)
			_ = r.Close()
		}
	}
	if _, err := s.OpenRange(t.Context(), "app/missing", 0, 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// TestOtherRangesAreFoundOut: a store that sends the whole object again, or bytes from
// elsewhere, must not have them appended.
func TestOtherRangesAreFoundOut(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h http.Header){
		"none":    func(h http.Header) { h.Del("Range") },
		"shifted": func(h http.Header) { h.Set("Range", "bytes=0-149999") },
		"shorter": func(h http.Header) { h.Set("Range", "bytes=50000-150000") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s, _ := stored(t, 200_000)
			server.Inject(
				r2test.Fault{Op: "GetObject", Effect: r2test.Truncate(50_000)},
				r2test.Fault{Op: "GetObject", Effect: func(_ *r2test.Server, answer http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						change(r.Header)
						answer.ServeHTTP(w, r)
					})
				}},
			)
			if _, err := readAll(t, s, key); !errors.Is(err, errNoRange) {
				t.Errorf("got %v, want that the range is another", err)
			}
		})
	}
}
