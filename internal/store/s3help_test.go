package store

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/lease"
)

// testPart is the size of the parts in tests: what R2 asks for at least would only
// move more bytes.
const testPart = 64 << 10

// bucket is a store with small parts in a fresh bucket. It is patient enough for a
// slow machine, and does not wait long between two tries.
func bucket(t *testing.T, o r2test.Options) (*r2test.Server, *S3) {
	t.Helper()
	o.MinPart = testPart
	if o.WriteEvery == 0 {
		o.WriteEvery = -1
	}
	server := r2test.New(t, o)
	return server, client(t, server)
}

func client(t *testing.T, server *r2test.Server) *S3 {
	t.Helper()
	s, err := NewS3(S3Options{
		Endpoint: server.URL, Bucket: r2test.Bucket, Prefix: "prod", RootCAs: server.RootCAs,
		Keys: func() (Keys, error) { return Keys{Access: r2test.AccessKey, Secret: r2test.SecretKey}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.partSize = testPart
	s.short = patience{first: 2 * time.Millisecond, most: 50 * time.Millisecond, total: 30 * time.Second}
	s.long = s.short
	return s
}

// hasty lets a store give up soon, for what does not get better.
func hasty(s *S3) {
	s.short.total, s.long.total = 100*time.Millisecond, 100*time.Millisecond
}

// noise is bytes that look like no others.
func noise(size int) []byte {
	body := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(body)
	return body
}

// upload writes an object and commits it.
func upload(t *testing.T, s *S3, key string, body []byte) (Info, error) {
	t.Helper()
	w, err := s.Create(t.Context(), key, int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	// Pieces that fit no part evenly.
	for rest := body; len(rest) > 0; {
		n := min(10_007, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			if aborted := w.Abort(t.Context()); aborted != nil {
				t.Errorf("abort: %v", aborted)
			}
			return Info{}, err
		}
		rest = rest[n:]
	}
	return w.Commit(t.Context())
}

// wantStored fails unless the server holds exactly this body and no upload.
func wantStored(t *testing.T, server *r2test.Server, key string, body []byte) {
	t.Helper()
	if got, ok := server.Object("prod/" + key); !ok || string(got) != string(body) {
		t.Errorf("%s: got %d bytes, %v, want %d", key, len(got), ok, len(body))
	}
	if n := server.Uploads(""); n != 0 {
		t.Errorf("%d uploads are open", n)
	}
}

// wantNothingStored fails if the server holds an object or an upload.
func wantNothingStored(t *testing.T, server *r2test.Server, key string) {
	t.Helper()
	if got, ok := server.Object("prod/" + key); ok {
		t.Errorf("%s: got %d bytes, want nothing", key, len(got))
	}
	if n := server.Uploads(""); n != 0 {
		t.Errorf("%d uploads are open", n)
	}
}

// wantClass fails unless err has a class and, where advice is not empty, a hint with
// it. No error tells a secret.
func wantClass(t *testing.T, err error, class lease.Class, advice string) {
	t.Helper()
	if err == nil || lease.ClassOf(err) != class {
		t.Fatalf("got %v, class %s, want class %s", err, lease.ClassOf(err), class)
	}
	told := err.Error()
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		told += " " + hinted.Hint()
	}
	if (hinted != nil) != (advice != "") || !strings.Contains(told, advice) {
		t.Errorf("got %q, want the advice %q", told, advice)
	}
	for _, secret := range []string{r2test.SecretKey, r2test.AccessKey, "AWS4-HMAC", "Signature=", "X-Amz-Date"} {
		if strings.Contains(told, secret) {
			t.Errorf("an error tells %q: %s", secret, told)
		}
	}
}

func readAll(t *testing.T, s *S3, key string) ([]byte, error) {
	t.Helper()
	r, err := s.Open(t.Context(), key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
