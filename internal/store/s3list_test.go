package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
	"github.com/heyaira/heyaira-loop/lease"
)

// listed is a bucket of ten objects, and a store that lists them in pages of three.
func listed(t *testing.T) (*r2test.Server, *S3, []string) {
	t.Helper()
	server, s := bucket(t, r2test.Options{})
	s.pageSize = 3
	var keys []string
	for n := range 10 {
		keys = append(keys, fmt.Sprintf("app/%02d", n))
		server.Put(t, "prod/"+keys[n], nil)
	}
	server.Put(t, "other/app/00", nil) // not of this store
	return server, s, keys
}

func list(ctx context.Context, s *S3) (keys []string, err error) {
	for info, err := range s.List(ctx, "", "") {
		if err != nil {
			return keys, err
		}
		keys = append(keys, info.Key)
	}
	return keys, nil
}

func TestTroubleInAListingIsSurvived(t *testing.T) {
	t.Parallel()
	all := map[string]r2test.Effect{"cut short": r2test.Truncate(300), "stalled": r2test.StallAfter(300)}
	for name, effect := range troubles {
		all[name] = effect
	}
	for name, effect := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s, keys := listed(t)
			s.wire.silence = 300 * time.Millisecond
			server.Inject(r2test.Fault{Op: "ListObjectsV2", Skip: 1, Times: 2, Effect: effect})
			if got, err := list(t.Context(), s); err != nil || !slices.Equal(got, keys) {
				t.Errorf("got %v, %v, want %v", got, err, keys)
			}
		})
	}
}

// TestFailedListingIsNotEmpty: whatever answers, nothing of it reads as an empty bucket.
func TestFailedListingIsNotEmpty(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		effect r2test.Effect
		class  lease.Class
		advice string
	}{
		"error in success":  {r2test.ErrorInSuccess("InternalError"), lease.Transient, ""},
		"denied in success": {r2test.ErrorInSuccess("AccessDenied"), lease.Blocked, "let these credentials"},
		"a page for people": {r2test.Page(http.StatusOK), lease.Blocked, "lead to the store"},
		"nothing":           {r2test.Lie(http.StatusOK), lease.Blocked, "lead to the store"},
		"half a page":       {r2test.Truncate(300), lease.Transient, ""},
		"forbidden":         {r2test.Page(http.StatusForbidden), lease.Blocked, "let these credentials"},
		"no bucket":         {r2test.Answer(http.StatusNotFound, "NoSuchBucket"), lease.Blocked, "make bucket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s, keys := listed(t)
			hasty(s)
			server.Inject(r2test.Fault{Op: "ListObjectsV2", Skip: 1, Times: r2test.Always, Effect: want.effect})
			got, err := list(t.Context(), s)
			wantClass(t, err, want.class, want.advice)
			if !slices.Equal(got, keys[:3]) {
				t.Errorf("got %v before the error, want the first page", got)
			}
		})
	}
}

func TestListingOutOfOrderIsAnError(t *testing.T) {
	t.Parallel()
	server, s, _ := listed(t)
	server.Inject(r2test.Fault{Op: "ListObjectsV2", Effect: page("prod/app/02", "prod/app/01")})
	_, err := list(t.Context(), s)
	if !errors.Is(err, errOutOfOrder) {
		t.Errorf("got %v", err)
	}
	wantClass(t, err, lease.Blocked, "in the order of the keys")
}

// page is a listing of these keys.
func page(keys ...string) r2test.Effect {
	return func(*r2test.Server, http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var text strings.Builder
			for _, key := range keys {
				text.WriteString("<Contents><Key>" + key + "</Key><Size>1</Size><LastModified>2026-11-30T00:00:00.000Z</LastModified></Contents>")
			}
			_, _ = io.WriteString(w, "<ListBucketResult><IsTruncated>false</IsTruncated>"+text.String()+"</ListBucketResult>")
		})
	}
}

// TestForeignKeysAreNotListed: other tools mark folders with objects.
func TestForeignKeysAreNotListed(t *testing.T) {
	t.Parallel()
	server, s, keys := listed(t)
	for _, key := range []string{"prod/", "prod/app/", "prod/app/.hidden", "prod/app//x"} {
		server.Put(t, key, nil)
	}
	if got, err := list(t.Context(), s); err != nil || !slices.Equal(got, keys) {
		t.Errorf("got %v, %v, want %v", got, err, keys)
	}
}

// TestMissingBucketIsNotEmpty: a HEAD is answered 404 for either.
func TestMissingBucketIsNotEmpty(t *testing.T) {
	t.Parallel()
	_, s := bucket(t, r2test.Options{})
	s.bucket = "elsewhere"
	_, err := s.Stat(t.Context(), key)
	wantClass(t, err, lease.Blocked, "make bucket elsewhere")
	_, err = s.Open(t.Context(), key)
	wantClass(t, err, lease.Blocked, "make bucket elsewhere")
	wantClass(t, s.Remove(t.Context(), key), lease.Blocked, "make bucket elsewhere")
	_, err = list(t.Context(), s)
	wantClass(t, err, lease.Blocked, "make bucket elsewhere")
	wantClass(t, s.PutOnce(t.Context(), key, nil), lease.Blocked, "make bucket elsewhere")
	_, err = upload(t, s, key, noise(2*testPart))
	wantClass(t, err, lease.Blocked, "make bucket elsewhere")
}

func TestUploadsAreWalked(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	s.pageSize = 2
	for _, err := range s.Uploads(t.Context(), "") {
		t.Errorf("in an empty bucket: %v", err)
	}
	var want []string
	for n := range 5 {
		key := fmt.Sprintf("app/%d", n)
		want = append(want, key)
		if _, err := s.core.NewMultipartUpload(t.Context(), s.bucket, s.root+key, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.core.NewMultipartUpload(t.Context(), s.bucket, "other/app/0", minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, effect := range troubles {
		if name == "408" || name == "error in success" {
			server.Inject(r2test.Fault{Op: "ListMultipartUploads", Skip: 1, Effect: effect})
		}
	}
	var got []string
	for u, err := range s.Uploads(t.Context(), "app/") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, u.Key)
		if u.ID == "" || time.Since(u.Started) > time.Hour {
			t.Errorf("got %+v", u)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for u := range s.Uploads(t.Context(), "app/3") {
		for range 2 { // a missing one is no error
			if err := s.AbortUpload(t.Context(), u); err != nil {
				t.Error(err)
			}
		}
	}
	if n := server.Uploads(""); n != 5 {
		t.Errorf("%d uploads are open, want 5", n)
	}
	hasty(s)
	server.Inject(r2test.Fault{Op: "ListMultipartUploads", Times: r2test.Always, Effect: r2test.ErrorInSuccess("InternalError")})
	var last error
	for _, err := range s.Uploads(t.Context(), "") {
		last = err
	}
	wantClass(t, last, lease.Transient, "")
}

func TestLifecycleRules(t *testing.T) {
	t.Parallel()
	const abort = "<AbortIncompleteMultipartUpload><DaysAfterInitiation>%d</DaysAfterInitiation></AbortIncompleteMultipartUpload>"
	rule := func(id, prefix, status, what string) string {
		return "<Rule><ID>" + id + "</ID><Status>" + status + "</Status><Filter><Prefix>" + prefix + "</Prefix></Filter>" + what + "</Rule>"
	}
	const expire = "<Expiration><Days>30</Days></Expiration>"
	for name, v := range map[string]struct {
		rules string
		want  Lifecycle
	}{
		"none":      {"", Lifecycle{}},
		"default":   {rule("a", "", "Enabled", fmt.Sprintf(abort, 7)), Lifecycle{AbortDays: 7}},
		"two":       {rule("a", "", "Enabled", fmt.Sprintf(abort, 7)) + rule("b", "prod/", "Enabled", fmt.Sprintf(abort, 1)), Lifecycle{AbortDays: 1}},
		"off":       {rule("a", "", "Disabled", fmt.Sprintf(abort, 7)+expire), Lifecycle{}},
		"elsewhere": {rule("a", "other/", "Enabled", fmt.Sprintf(abort, 7)+expire), Lifecycle{}},
		"part of":   {rule("a", "prod/app/", "Enabled", fmt.Sprintf(abort, 7)), Lifecycle{}},
		"expiring":  {rule("a", "prod/app/", "Enabled", expire) + rule("b", "", "Enabled", expire), Lifecycle{Expiring: []string{"a", "b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := bucket(t, r2test.Options{})
			if v.rules != "" {
				server.SetLifecycle(v.rules)
			}
			server.Inject(r2test.Fault{Op: "GetBucketLifecycleConfiguration", Effect: r2test.Reset()})
			got, err := s.Lifecycle(t.Context())
			if err != nil || got.AbortDays != v.want.AbortDays || !slices.Equal(got.Expiring, v.want.Expiring) {
				t.Errorf("got %+v, %v, want %+v", got, err, v.want)
			}
		})
	}
}

func TestSkewOfTheClocks(t *testing.T) {
	t.Parallel()
	server, s := bucket(t, r2test.Options{})
	if _, known := s.Skew(); known {
		t.Error("the skew is known before the first reply")
	}
	server.Inject(r2test.Fault{Op: "HeadObject", Effect: func(_ *r2test.Server, answer http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusNotFound)
		})
	}})
	s.there.Store(true)
	if _, err := s.Stat(t.Context(), key); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if skew, known := s.Skew(); !known || skew < time.Hour || skew > time.Hour+time.Minute {
		t.Errorf("got %v, %v, want an hour", skew, known)
	}
}
