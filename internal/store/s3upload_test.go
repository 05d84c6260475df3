package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/lease"
)

// troubles are what passes: each is survived wherever it happens.
var troubles = map[string]r2test.Effect{
	"reset":            r2test.Reset(),
	"408":              r2test.Answer(http.StatusRequestTimeout, "RequestTimeout"),
	"429":              r2test.Answer(http.StatusTooManyRequests, "TooManyRequests"),
	"500":              r2test.Answer(http.StatusInternalServerError, "InternalError"),
	"502":              r2test.Page(http.StatusBadGateway),
	"503":              r2test.Answer(http.StatusServiceUnavailable, "SlowDown"),
	"error in success": r2test.ErrorInSuccess("InternalError"),
	"lost reply":       r2test.LoseReply(),
	"done but error":   r2test.DoneButError("InternalError"),
}

// TestTroubleInAnUploadIsSurvived lets each trouble happen to each operation of an
// upload.
func TestTroubleInAnUploadIsSurvived(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "HeadObject"} {
		for name, effect := range troubles {
			t.Run(op+" "+name, func(t *testing.T) {
				t.Parallel()
				server, s := bucket(t, r2test.Options{})
				skip := 0
				if op == "UploadPart" {
					skip = 2
				}
				server.Inject(r2test.Fault{Op: op, Skip: skip, Effect: effect})
				body := noise(4*testPart + 5)
				info, err := upload(t, s, key, body)
				if err != nil || info.Size != int64(len(body)) {
					t.Fatalf("got %+v, %v", info, err)
				}
				if op == "CreateMultipartUpload" {
					sweep(t, s) // of a lost reply nobody knows the upload
				}
				wantStored(t, server, key, body)
			})
		}
	}
}

// sweep aborts what is open.
func sweep(t *testing.T, s *S3) {
	t.Helper()
	for u, err := range s.Uploads(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if u.Key != key || time.Since(u.Started) > time.Hour {
			t.Errorf("got %+v", u)
		}
		if err := s.AbortUpload(t.Context(), u); err != nil {
			t.Error(err)
		}
	}
}

// TestTroubleThatStaysIsReported lets it happen for ever: the upload fails, and
// nothing is left of it.
func TestTroubleThatStaysIsReported(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"UploadPart", "CompleteMultipartUpload"} {
		for _, name := range []string{"reset", "429", "500", "502", "error in success"} {
			t.Run(op+" "+name, func(t *testing.T) {
				t.Parallel()
				server, s := bucket(t, r2test.Options{})
				hasty(s)
				server.Inject(r2test.Fault{Op: op, Times: r2test.Always, Effect: troubles[name]})
				_, err := upload(t, s, key, noise(4*testPart))
				wantClass(t, err, lease.Transient, "")
				wantNothingStored(t, server, key)
			})
		}
	}
}

// TestLostCompletionIsAskedAbout loses every reply to the completion: the key tells.
func TestLostCompletionIsAskedAbout(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]r2test.Effect{"lost": r2test.LoseReply(), "error": r2test.DoneButError("InternalError")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			hasty(s)
			server.Inject(r2test.Fault{Op: "CompleteMultipartUpload", Times: r2test.Always, Effect: effect})
			body := noise(2*testPart + 1)
			if _, err := upload(t, s, key, body); err != nil {
				t.Fatal(err)
			}
			wantStored(t, server, key, body)
		})
	}
}

// TestKeptNothingIsNotBelieved is about stores over their quota: they say yes.
func TestKeptNothingIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"PutObject": 100, "CompleteMultipartUpload": 3 * testPart} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			server.Inject(r2test.Fault{Op: name, Effect: r2test.KeepNothing()})
			_, err := upload(t, s, key, noise(size))
			wantClass(t, err, lease.Blocked, "has room left")
			server.Inject(r2test.Fault{Op: name, Effect: r2test.KeepNothing()})
			if size < testPart {
				wantClass(t, s.PutOnce(t.Context(), "other", noise(size)), lease.Blocked, "has room left")
			}
			if n := server.Uploads(""); n != 0 {
				t.Errorf("%d uploads are open", n)
			}
		})
	}
}

func TestUploadNeverReplaces(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	first := noise(2 * testPart)
	if _, err := upload(t, s, key, first); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{10, 3 * testPart} {
		if _, err := upload(t, s, key, noise(size)); !errors.Is(err, ErrExists) {
			t.Errorf("%d bytes: got %v, want ErrExists", size, err)
		}
		wantStored(t, server, key, first)
	}
}

func TestStallIsCutAndTriedAgain(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"UploadPart", "CompleteMultipartUpload", "HeadObject"} {
		for name, effect := range map[string]r2test.Effect{"mute": r2test.Stall(), "deaf": r2test.Deaf()} {
			t.Run(op+" "+name, func(t *testing.T) {
				t.Parallel()
				server, s := bucket(t, r2test.Options{})
				s.wire.silence, s.wire.assembly = 300*time.Millisecond, 300*time.Millisecond
				server.Inject(r2test.Fault{Op: op, Effect: effect})
				body := noise(3 * testPart)
				if _, err := upload(t, s, key, body); err != nil {
					t.Fatal(err)
				}
				wantStored(t, server, key, body)
			})
		}
	}
}

// TestCancelEndsAnUploadAtOnce cancels while both parts hang: what was begun is
// aborted by who survives.
func TestCancelEndsAnUploadAtOnce(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"commit", "abort"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			hanging := make(chan struct{}, 2)
			server.Inject(r2test.Fault{Op: "UploadPart", Times: 2, Effect: func(s *r2test.Server, answer http.Handler) http.Handler {
				hanging <- struct{}{}
				return r2test.Stall()(s, answer)
			}})
			ctx, cancel := context.WithCancelCause(t.Context())
			w, err := s.Create(ctx, key, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(noise(2*testPart + 1)); err != nil {
				t.Fatal(err)
			}
			<-hanging
			<-hanging
			cancel(lease.ErrLost)
			if _, err := w.Write(noise(testPart)); !errors.Is(err, lease.ErrLost) {
				t.Errorf("write: got %v, want the cause", err)
			}
			if end == "commit" {
				_, err := w.Commit(ctx)
				wantClass(t, err, lease.LostClass, "")
			} else if err := w.Abort(context.WithoutCancel(ctx)); err != nil {
				t.Errorf("abort: %v", err)
			}
			wantNothingStored(t, server, key)
		})
	}
}

// TestCommitEndsWithItsOwnContext: the parts in flight belong to Commit by then.
func TestCommitEndsWithItsOwnContext(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no time left")
	server.Inject(r2test.Fault{Op: "UploadPart", Skip: 1, Effect: func(s *r2test.Server, answer http.Handler) http.Handler {
		cancel(cause)
		return r2test.Stall()(s, answer)
	}})
	w, err := s.Create(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(noise(testPart + 1)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := w.Commit(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
	if took := time.Since(began); took > silence/2 {
		t.Errorf("it ended after %s, with the silence of its part", took)
	}
	wantNothingStored(t, server, key)
}

func TestExpiredCredentials(t *testing.T) {
	t.Parallel()
	for _, renewed := range []bool{false, true} {
		t.Run(fmt.Sprintf("renewed=%v", renewed), func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			var keys atomic.Pointer[Keys]
			keys.Store(&Keys{Access: r2test.AccessKey, Secret: r2test.SecretKey})
			s.keys.source = func() (Keys, error) { return *keys.Load(), nil }
			w, err := s.Create(t.Context(), key, 0)
			if err != nil {
				t.Fatal(err)
			}
			body := noise(3*testPart + 1)
			if _, err := w.Write(body[:testPart+1]); err != nil {
				t.Fatal(err)
			}
			if renewed {
				keys.Store(&Keys{Access: "canary-new-key", Secret: r2test.SecretKey, Session: "canary-session"})
				server.Rekey("canary-new-key", "canary-session")
			} else {
				server.Expire()
			}
			_, err = w.Write(body[testPart+1:])
			if err == nil {
				_, err = w.Commit(t.Context())
			}
			if renewed {
				if err != nil {
					t.Fatal(err)
				}
				wantStored(t, server, key, body)
				return
			}
			wantClass(t, err, lease.Blocked, "have expired")
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

func TestPartTenThousandAndOneIsRefused(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	created, err := s.Create(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := created.(*s3Writer)
	w.sent = make([]minio.CompletePart, maxParts-1)
	if _, err := w.Write(noise(2 * testPart)); err != nil {
		t.Fatalf("part 10,000: %v", err)
	}
	_, err = w.Write([]byte("one byte more"))
	wantClass(t, err, lease.Permanent, "set part_size: 1MiB")
	_, err = w.Commit(t.Context())
	wantClass(t, err, lease.Permanent, "set part_size: 1MiB")
	wantNothingStored(t, server, key)
	for _, r := range server.Requests("UploadPart") {
		if r.Part > maxParts {
			t.Errorf("part %d was sent", r.Part)
		}
	}
}

// TestPartSizes holds the parts to the bounds of S3 and of memory.
func TestPartSizes(t *testing.T) {
	t.Parallel()
	const mb = 1_000_000
	for _, size := range []int64{0, 1, 1 << 30, 100 << 30, 156 << 30, 157 << 30, 200_000 * mb, 1 << 40, 4 << 40, 40 << 40} {
		part := partSizeFor(size)
		if part < minPartSize || part > maxPartSize || part%grain != 0 {
			t.Errorf("%d bytes: parts of %d", size, part)
		}
		if room := part * maxParts; room < size+size/32 {
			t.Errorf("%d bytes: room for %d", size, room)
		}
		if memory := 3*part + 32*mb; size <= 200_000*mb && memory > 96*mb {
			t.Errorf("%d bytes: %d bytes of memory", size, memory)
		}
	}
	if part := partSizeFor(1 << 62); part != maxPartSize {
		t.Errorf("the largest part has %d bytes", part)
	}
}
