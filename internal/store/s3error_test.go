package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/lease"
)

func TestRefusalsAreBlockedAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		status int
		code   string
		advice string
	}{
		{403, "InvalidAccessKeyId", "check access key"},
		{403, "SignatureDoesNotMatch", "check access key"},
		{401, "Unauthorized", "check access key"},
		{403, "AccessDenied", "let these credentials"},
		{400, "ExpiredToken", "get new ones"},
		{403, "RequestTimeTooSkewed", "clock"},
		{404, "NoSuchBucket", "make bucket"},
		{301, "PermanentRedirect", "endpoint and the region"},
		{400, "AuthorizationHeaderMalformed", "endpoint and the region"},
		{400, "QuotaExceeded", "make room"},
		{507, "XMinioStorageFull", "make room"},
		{403, "NotEntitled", "ask the store's provider"},
		{403, "ObjectLockedByBucketPolicy", "lock rule"},
		{501, "NotImplemented", "use a store"},
	} {
		t.Run(fmt.Sprint(v.status, v.code), func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			// A server may repeat what it was sent.
			server.Inject(r2test.Fault{Times: r2test.Always, Effect: r2test.AnswerWith(v.status, v.code,
				"for "+r2test.AccessKey+" with "+r2test.SecretKey)})
			_, err := s.Open(t.Context(), key)
			wantClass(t, err, lease.Blocked, v.advice)
			if !strings.Contains(err.Error(), v.code) {
				t.Errorf("the error does not tell the code %s: %v", v.code, err)
			}
			if n := len(server.Requests("")); n != 1 {
				t.Errorf("asked %d times, want once", n)
			}
			_, err = list(t.Context(), s)
			wantClass(t, err, lease.Blocked, v.advice)
		})
	}
}

// TestNothingSecretIsTold lets a proxy repeat the request's headers.
func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	for name, effect := range map[string]r2test.Effect{
		"page":    r2test.Page(http.StatusForbidden),
		"gateway": r2test.Page(http.StatusBadGateway),
		"echo": r2test.AnswerWith(http.StatusBadRequest, "InvalidRequest",
			"Authorization: AWS4-HMAC-SHA256 Credential=canary-access-key, Signature=abc"),
		"long": r2test.AnswerWith(http.StatusBadRequest, "InvalidRequest", strings.Repeat("long\u2028\n", 1000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			hasty(s)
			server.Inject(r2test.Fault{Times: r2test.Always, Effect: effect})
			_, opened := s.Open(t.Context(), key)
			_, listed := list(t.Context(), s)
			for _, err := range []error{opened, listed, s.PutOnce(t.Context(), key, nil), s.Remove(t.Context(), key)} {
				if err == nil {
					t.Fatal("no error")
				}
				if len(err.Error()) > 500 {
					t.Errorf("the error tells too much: %v", err)
				}
				for _, secret := range []string{"canary", "AWS4", "Signature", "\n", "<html"} {
					if told := fmt.Sprintf("%v %+v", err, err); strings.Contains(told, secret) {
						t.Errorf("the error tells %q: %s", secret, told)
					}
				}
			}
		})
	}
}

func TestStoreThatIsNotThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	server, s := bucket(t, r2test.Options{})
	hasty(s)
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		_, s := bucket(t, r2test.Options{})
		hasty(s)
		away := *s
		s, err := NewS3(S3Options{Endpoint: "https://" + address, Bucket: "heyaira", Keys: away.keys.source})
		if err != nil {
			t.Fatal(err)
		}
		hasty(s)
		_, err = s.Stat(t.Context(), key)
		wantClass(t, err, lease.Transient, "")
		if !errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "https://") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("not trusted", func(t *testing.T) {
		t.Parallel()
		s, err := NewS3(S3Options{Endpoint: server.URL, Bucket: "heyaira", Keys: s.keys.source})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Stat(t.Context(), key)
		wantClass(t, err, lease.Blocked, "SSL_CERT_FILE")
	})
	t.Run("no TLS", func(t *testing.T) {
		t.Parallel()
		plain := r2test.New(t, r2test.Options{Plain: true})
		s, err := NewS3(S3Options{Endpoint: "https" + strings.TrimPrefix(plain.URL, "http"), Bucket: "heyaira", Keys: s.keys.source})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Stat(t.Context(), key)
		wantClass(t, err, lease.Blocked, "is "+s.endpoint.Host+" the store?")
	})
	t.Run("no credentials", func(t *testing.T) {
		t.Parallel()
		s, err := NewS3(S3Options{
			Endpoint: server.URL, Bucket: "heyaira", RootCAs: server.RootCAs,
			Keys: EnvKeys(func(string) string { return "" }, "R2"),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Stat(t.Context(), key)
		wantClass(t, err, lease.Blocked, "credentials in the environment")
		if !strings.Contains(err.Error(), "R2_ACCESS_KEY_ID") {
			t.Errorf("got %v, want the name of the variable", err)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	keys := EnvKeys(os.Getenv, "R2")
	good := S3Options{Endpoint: "https://x.r2.cloudflarestorage.com", Bucket: "heyaira", Prefix: "/a/b/", Keys: keys}
	s, err := NewS3(good)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.String(), "s3://heyaira/a/b at x.r2.cloudflarestorage.com"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, change := range map[string]func(o *S3Options){
		"no endpoint":   func(o *S3Options) { o.Endpoint = "" },
		"no scheme":     func(o *S3Options) { o.Endpoint = "x.r2.cloudflarestorage.com" },
		"other scheme":  func(o *S3Options) { o.Endpoint = "ftp://x" },
		"password":      func(o *S3Options) { o.Endpoint = "https://canary:canary@x" },
		"bucket in it":  func(o *S3Options) { o.Endpoint = "https://x/heyaira" },
		"query":         func(o *S3Options) { o.Endpoint = "https://x?key=canary" },
		"broken":        func(o *S3Options) { o.Endpoint = "https://canary\x00:y" },
		"no bucket":     func(o *S3Options) { o.Bucket = "" },
		"bad bucket":    func(o *S3Options) { o.Bucket = "Hey_aira/" },
		"bad prefix":    func(o *S3Options) { o.Prefix = "a/../b" },
		"small part":    func(o *S3Options) { o.PartSize = 5<<20 - 1 },
		"large part":    func(o *S3Options) { o.PartSize = 5<<30 + 1 },
		"no keys":       func(o *S3Options) { o.Keys = nil },
		"hidden prefix": func(o *S3Options) { o.Prefix = ".a" },
	} {
		o := good
		change(&o)
		if _, err := NewS3(o); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestKeysFromAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "credentials")
	text := "# of two stores\n[default]\naws_access_key_id = one\naws_secret_access_key=two\n" +
		"[r2]\n; aws_access_key_id = old\naws_access_key_id = three\naws_secret_access_key = fo=ur\naws_session_token = five\n[half]\naws_access_key_id = six\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[string]Keys{"": {"one", "two", ""}, "r2": {"three", "fo=ur", "five"}} {
		if got, err := FileKeys(path, profile)(); err != nil || got != want {
			t.Errorf("profile %q: got other keys, or %v", profile, err)
		}
	}
	for _, profile := range []string{"half", "missing"} {
		if _, err := FileKeys(path, profile)(); err == nil || strings.Contains(err.Error(), "six") {
			t.Errorf("profile %q: got %v", profile, err)
		}
	}
	if _, err := FileKeys(path+"2", "")(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	keys := Keys{"canary", "canary", "canary"}
	if told := fmt.Sprintf("%v %+v %#v %v", keys, keys, keys, []Keys{keys}); strings.Contains(told, "canary") {
		t.Errorf("keys are printed: %s", told)
	}
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trouble := errors.New("a broken connection")
		a := attempts{patience: patience{first: time.Millisecond, most: 4 * time.Millisecond, total: 50 * time.Millisecond}}
		began := time.Now()
		for a.again(t.Context(), trouble) {
		}
		if took := time.Since(began); a.failed < 12 || took > 50*time.Millisecond {
			t.Errorf("tried %d times in %s, want a wait of 4 ms at most for 50 ms", a.failed, took)
		}
		if err := a.over(trouble); !errors.Is(err, trouble) || !strings.Contains(err.Error(), "asked ") {
			t.Errorf("got %v, want how often it was asked", err)
		}
		a.moved()
		if !a.again(t.Context(), trouble) {
			t.Error("progress gave no new patience")
		}
		ctx, cancel := context.WithCancel(t.Context())
		slow := attempts{patience: patience{first: time.Hour, most: time.Hour, total: 10 * time.Hour}}
		time.AfterFunc(10*time.Millisecond, cancel)
		if slow.again(ctx, trouble) {
			t.Error("it was tried again under an ended context")
		}
		if (&attempts{patience: longPatience}).again(t.Context(), ErrExists) {
			t.Error("an answer was asked for again")
		}
	})
}
