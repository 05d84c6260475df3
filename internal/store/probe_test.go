package store

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/lease"
)

func probed(findings []Finding) (checks, failed []string) {
	for _, f := range findings {
		checks = append(checks, f.Check)
		if f.Err != nil {
			failed = append(failed, f.Check)
		}
	}
	return checks, failed
}

func TestProbeOfGoodStores(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	server.SetLifecycle("<Rule><ID>a</ID><Status>Enabled</Status><AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>")
	findings := Probe(t.Context(), s, "_probe")
	checks, failed := probed(findings)
	want := []string{"put", "put once", "get", "range", "list", "upload", "abort", "delete", "lifecycle", "clock"}
	if !slices.Equal(checks, want) || failed != nil {
		t.Errorf("got %+v", findings)
	}
	if note := findings[8].Note; !strings.Contains(note, "after 7 days") {
		t.Errorf("got note %q", note)
	}
	parts := 0
	for _, r := range server.Requests("UploadPart") {
		if strings.HasSuffix(r.Key, "/upload") {
			parts++
		}
	}
	if parts != 4 {
		t.Errorf("uploaded %d parts, want three and a tail", parts)
	}
	for info, err := range s.List(t.Context(), "", "") {
		t.Errorf("left: %+v, %v", info, err)
	}

	checks, failed = probed(Probe(t.Context(), open(t, t.TempDir()), "_probe"))
	if !slices.Equal(checks, []string{"put", "put once", "get", "list", "upload", "abort", "delete"}) || failed != nil {
		t.Errorf("folder: got %v, failed %v", checks, failed)
	}
}

func TestProbeFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]struct {
		fault  r2test.Fault
		failed []string
		advice string
	}{
		"conditions ignored": {r2test.Fault{Op: "PutObject", Times: r2test.Always, Effect: r2test.IgnoreConditions()}, []string{"put once"}, "If-None-Match"},
		"deletes that lie":   {r2test.Fault{Op: "DeleteObject", Times: r2test.Always, Effect: r2test.Lie(http.StatusNoContent)}, []string{"delete"}, ""},
		"flipped bits":       {r2test.Fault{Op: "GetObject", Times: r2test.Always, Effect: r2test.Flip(1)}, []string{"get", "range", "upload"}, "do not use"},
		"no uploads listed": {r2test.Fault{Op: "ListMultipartUploads", Times: r2test.Always, Effect: func(*r2test.Server, http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("<ListMultipartUploadsResult/>"))
			})
		}}, []string{"abort"}, "lifecycle rule"},
		"no rights to write": {r2test.Fault{Op: "PutObject", Times: r2test.Always, Effect: r2test.Answer(http.StatusForbidden, "AccessDenied")}, []string{"put"}, "let these credentials"},
		"a rule that deletes": {r2test.Fault{Op: "GetBucketLifecycleConfiguration", Effect: func(*r2test.Server, http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("<LifecycleConfiguration><Rule><ID>old</ID><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>"))
			})
		}}, []string{"lifecycle"}, "only retention may delete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			// What happens to the lists of uploads happens to all of them.
			server.Inject(v.fault)
			findings := Probe(t.Context(), s, "_probe")
			if _, failed := probed(findings); !slices.Equal(failed, v.failed) {
				t.Errorf("failed %v, want %v", failed, v.failed)
			}
			for _, f := range findings {
				if f.Err != nil {
					wantClass(t, f.Err, lease.ClassOf(f.Err), v.advice)
				}
			}
			if n := server.Uploads(""); n != 0 {
				t.Errorf("%d uploads are open", n)
			}
		})
	}
}
