package store

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/lease"
)

func TestTroubleInAPutIsSurvived(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"PutObject", "HeadObject"} {
		for name, effect := range troubles {
			t.Run(op+" "+name, func(t *testing.T) {
				t.Parallel()
				server, s := bucket(t, r2test.Options{})
				server.Inject(r2test.Fault{Op: op, Times: 2, Effect: effect})
				body := noise(1000)
				if err := s.PutOnce(t.Context(), key, body); err != nil {
					t.Fatal(err)
				}
				wantStored(t, server, key, body)
			})
		}
	}
}

// TestLostPutIsAskedAbout: the second try is refused because of the first, and what
// stands there is ours.
func TestLostPutIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]r2test.Effect{"lost": r2test.LoseReply(), "error": r2test.DoneButError("InternalError")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			server.Inject(r2test.Fault{Op: "PutObject", Effect: effect})
			body := noise(200_000)
			if err := s.PutOnce(t.Context(), key, body); err != nil {
				t.Fatal(err)
			}
			puts := server.Requests("PutObject")
			if len(puts) != 2 || puts[1].Status != http.StatusPreconditionFailed {
				t.Errorf("got %d puts, want one refused after the first", len(puts))
			}
			wantStored(t, server, key, body)
		})
	}
}

// TestLostPutDoesNotTakeAnothersForOurs: what stands there after a doubt is compared,
// byte by byte.
func TestLostPutDoesNotTakeAnothersForOurs(t *testing.T) {
	t.Parallel()
	body := noise(100_000)
	other := append([]byte(nil), body...)
	other[len(other)-1] ^= 1
	for name, theirs := range map[string][]byte{"as long": other, "longer": append(other, 0), "shorter": body[:99_999], "empty": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			server.Inject(r2test.Fault{Op: "PutObject", Effect: func(s *r2test.Server, answer http.Handler) http.Handler {
				s.Put(t, "prod/"+key, theirs) // meanwhile
				return r2test.Reset()(s, answer)
			}})
			if err := s.PutOnce(t.Context(), key, body); !errors.Is(err, ErrExists) {
				t.Errorf("got %v, want ErrExists", err)
			}
			wantStored(t, server, key, theirs)
		})
	}
}

func TestPutThatNeverArrivesIsReported(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	hasty(s)
	server.Inject(r2test.Fault{Op: "PutObject", Times: r2test.Always, Effect: r2test.Reset()})
	wantClass(t, s.PutOnce(t.Context(), key, noise(10)), lease.Transient, "")
	server.Inject(r2test.Fault{Op: "GetObject", Times: r2test.Always, Effect: r2test.Reset()})
	wantClass(t, s.PutOnce(t.Context(), key, noise(10)), lease.Transient, "")
	wantNothingStored(t, server, key)
}

// TestRefusedPutAsksNothing: without a doubt a refusal is the answer.
func TestRefusedPutAsksNothing(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	server.Put(t, "prod/"+key, []byte("first"))
	if err := s.PutOnce(t.Context(), key, []byte("first")); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want ErrExists", err)
	}
	if n := len(server.Requests("")); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

// TestPutsToOneKeyKeepThePace lets R2 take a write of a key each second.
func TestPutsToOneKeyKeepThePace(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{WriteEvery: time.Second})
	for range 2 {
		if err := s.PutOnce(t.Context(), key, noise(10)); err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	slowed := false
	for _, r := range server.Requests("PutObject") {
		slowed = slowed || r.Status == http.StatusTooManyRequests
	}
	if !slowed {
		t.Error("the second put came too late to be held back")
	}
}

func TestRetainedObject(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	body := noise(3 * testPart)
	if _, err := upload(t, s, key, body); err != nil {
		t.Fatal(err)
	}
	server.Lock("prod/app/")
	err := s.Remove(t.Context(), key)
	if !errors.Is(err, ErrRetained) {
		t.Errorf("got %v, want ErrRetained", err)
	}
	wantClass(t, err, lease.Blocked, "lock rule")
	if err := s.PutOnce(t.Context(), key, []byte("x")); !errors.Is(err, ErrExists) {
		t.Errorf("put: got %v, want ErrExists", err)
	}
	for _, size := range []int{1, 3 * testPart} {
		if _, err := upload(t, s, key, noise(size)); !errors.Is(err, ErrExists) {
			t.Errorf("commit of %d bytes: got %v, want ErrExists", size, err)
		}
	}
	// What is new may still be written.
	if _, err := upload(t, s, key+"2", body); err != nil {
		t.Errorf("commit of another: %v", err)
	}
	wantStored(t, server, key, body)
}

func TestRemove(t *testing.T) {
	t.Parallel()
	t.Run("a lie is found out", func(t *testing.T) {
		t.Parallel()
		server, s := bucket(t, r2test.Options{})
		server.Put(t, "prod/"+key, []byte("x"))
		server.Inject(r2test.Fault{Op: "DeleteObject", Effect: r2test.Lie(http.StatusNoContent)})
		if err := s.Remove(t.Context(), key); !errors.Is(err, errStillThere) {
			t.Errorf("got %v, want that it is still there", err)
		}
		wantStored(t, server, key, []byte("x"))
		if err := s.Remove(t.Context(), key); err != nil {
			t.Error(err)
		}
		wantNothingStored(t, server, key)
	})
	for name, effect := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			server.Put(t, "prod/"+key, []byte("x"))
			server.Inject(r2test.Fault{Op: "DeleteObject", Times: 2, Effect: effect})
			if err := s.Remove(t.Context(), key); err != nil {
				t.Error(err)
			}
			wantNothingStored(t, server, key)
		})
	}
	t.Run("doubt is no success", func(t *testing.T) {
		t.Parallel()
		server, s := bucket(t, r2test.Options{})
		hasty(s)
		server.Put(t, "prod/"+key, []byte("x"))
		server.Inject(r2test.Fault{Op: "HeadObject", Times: r2test.Always, Effect: r2test.Reset()})
		wantClass(t, s.Remove(t.Context(), key), lease.Transient, "")
	})
}
