package store

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
)

// sentHeaders is all that a request may carry. A trailer, a checksum, a tag, an ACL, a
// lock or an Expect is not among it.
var sentHeaders = []string{
	"Accept-Encoding", "Authorization", "Content-Length", "Content-Md5", "Content-Type", "If-None-Match",
	"User-Agent", "X-Amz-Content-Sha256", "X-Amz-Date",
}

// TestOnTheWire looks at what a server receives: whole parts, each with its MD5, and
// nothing that R2 has no word for.
func TestOnTheWire(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{Plain: plain})
			body := noise(3*testPart + 17)
			if _, err := upload(t, s, "app/large", body); err != nil {
				t.Fatal(err)
			}
			if err := s.PutOnce(t.Context(), "app/once", body[:100]); err != nil {
				t.Fatal(err)
			}
			wantStored(t, server, "app/large", body)
			wantStored(t, server, "app/once", body[:100])
			for _, r := range server.Requests("") {
				checkRequest(t, r, plain)
			}
			parts := server.Requests("UploadPart")
			slices.SortFunc(parts, func(a, b r2test.Request) int { return a.Part - b.Part })
			var joined []byte
			for n, r := range parts {
				if r.Part != n+1 || n < 3 && len(r.Body) != testPart {
					t.Errorf("part %d has %d bytes, want %d", r.Part, len(r.Body), testPart)
				}
				joined = append(joined, r.Body...)
			}
			if !bytes.Equal(joined, body) {
				t.Errorf("the parts are not what was written: %d bytes, want %d", len(joined), len(body))
			}
		})
	}
}

func checkRequest(t *testing.T, r r2test.Request, plain bool) {
	t.Helper()
	for name := range r.Header {
		if !slices.Contains(sentHeaders, name) {
			t.Errorf("%s sends %s: %q", r.Op, name, r.Header[name])
		}
	}
	if len(r.Trailer) != 0 || len(r.TransferEncoding) != 0 {
		t.Errorf("%s sends trailers %v, transfer encoding %v", r.Op, r.Trailer, r.TransferEncoding)
	}
	if r.Op != "UploadPart" && r.Op != "PutObject" {
		return
	}
	sum := md5.Sum(r.Body)
	if got, want := r.Header.Get("Content-Md5"), base64.StdEncoding.EncodeToString(sum[:]); got != want {
		t.Errorf("%s: Content-MD5 %q, want %q", r.Op, got, want)
	}
	signed := "UNSIGNED-PAYLOAD"
	if plain {
		sum := sha256.Sum256(r.Body)
		signed = hex.EncodeToString(sum[:])
	}
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != signed {
		t.Errorf("%s: X-Amz-Content-Sha256 %q, want %q", r.Op, got, signed)
	}
	if got := r.Header.Get("Content-Length"); r.ContentLength != int64(len(r.Body)) || got != "" && got != strconv.Itoa(len(r.Body)) {
		t.Errorf("%s: Content-Length %d, %q, want %d", r.Op, r.ContentLength, got, len(r.Body))
	}
	if once := r.Header.Get("If-None-Match"); (once == "*") != (r.Op == "PutObject") {
		t.Errorf("%s: If-None-Match %q", r.Op, once)
	}
}

func TestWhatFitsIntoAPartIsOnePut(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, testPart - 1, testPart} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			body := noise(size)
			info, err := upload(t, s, key, body)
			if err != nil || info.Size != int64(size) {
				t.Fatalf("got %+v, %v", info, err)
			}
			wantStored(t, server, key, body)
			var ops []string
			for _, r := range server.Requests("") {
				ops = append(ops, r.Op)
			}
			if want := []string{"PutObject", "HeadObject"}; !slices.Equal(ops, want) {
				t.Errorf("asked %v, want %v", ops, want)
			}
		})
	}
}

func TestOneByteMoreIsAnUpload(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	for n, size := range []int{testPart + 1, 2 * testPart, 5 * testPart} {
		at := fmt.Sprintf("app/%d", n)
		body := noise(size)
		if _, err := upload(t, s, at, body); err != nil {
			t.Fatal(err)
		}
		wantStored(t, server, at, body)
	}
	if got := len(server.Requests("UploadPart")); got != 2+2+5 {
		t.Errorf("sent %d parts, want 9: an empty one is none", got)
	}
}

func TestTwoPartsAreInFlight(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	// Every part waits until there are two, the last one excepted.
	both := make(chan struct{})
	server.Inject(r2test.Fault{Op: "UploadPart", Times: 20, Effect: func(_ *r2test.Server, answer http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case both <- struct{}{}:
			case <-both:
			case <-r.Context().Done():
			}
			answer.ServeHTTP(w, r)
		})
	}})
	body := noise(20 * testPart)
	if _, err := upload(t, s, key, body); err != nil {
		t.Fatal(err)
	}
	wantStored(t, server, key, body)
	if most := server.MostAtOnce("UploadPart"); most != 2 {
		t.Errorf("%d parts were in flight, want 2", most)
	}
}
