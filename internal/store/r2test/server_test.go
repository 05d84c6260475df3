package r2test_test

import (
	"bytes"
	"crypto/md5"
	"crypto/tls"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
)

const key = "app/object"

// client is an S3 client as others write them.
func client(t *testing.T, s *r2test.Server, change func(o *minio.Options)) *minio.Core {
	t.Helper()
	host, plain := strings.CutPrefix(s.URL, "http://")
	o := &minio.Options{
		Creds: credentials.NewStaticV4(r2test.AccessKey, r2test.SecretKey, ""), Secure: !plain, Region: "auto", MaxRetries: 1,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.RootCAs}},
	}
	if change != nil {
		change(o)
	}
	core, err := minio.NewCore(strings.TrimPrefix(host, "https://"), o)
	if err != nil {
		t.Fatal(err)
	}
	return core
}

func put(t *testing.T, c *minio.Core, key, body string, o minio.PutObjectOptions) error {
	t.Helper()
	_, err := c.PutObject(t.Context(), r2test.Bucket, key, strings.NewReader(body), int64(len(body)), "", "", o)
	return err
}

// wantCode fails unless err is this one of S3's.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if got := minio.ToErrorResponse(err).Code; got != code {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, code)
	}
}

// complete uploads parts of these sizes and completes them.
func complete(t *testing.T, c *minio.Core, key string, sizes ...int) error {
	t.Helper()
	id, err := c.NewMultipartUpload(t.Context(), r2test.Bucket, key, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var parts []minio.CompletePart
	for n, size := range sizes {
		part, err := c.PutObjectPart(t.Context(), r2test.Bucket, key, id, n+1, bytes.NewReader(make([]byte, size)), int64(size), minio.PutObjectPartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, minio.CompletePart{PartNumber: n + 1, ETag: part.ETag})
	}
	_, err = c.CompleteMultipartUpload(t.Context(), r2test.Bucket, key, id, parts, minio.PutObjectOptions{})
	return err
}

func TestPartsHaveOneSize(t *testing.T) {
	t.Parallel()
	s := r2test.New(t, r2test.Options{MinPart: 100, WriteEvery: -1})
	c := client(t, s, nil)
	for _, sizes := range [][]int{{100, 101, 5}, {101, 100, 5}, {100, 101}, {100, 100, 101}, {99, 99, 5}} {
		wantCode(t, "complete", complete(t, c, key, sizes...), "InvalidPart")
	}
	if n := s.Uploads("app/"); n != 5 {
		t.Errorf("%d uploads are open, want 5", n)
	}
	for _, sizes := range [][]int{{5}, {100, 100, 5}, {200, 200}} {
		wantCode(t, "complete", complete(t, c, key, sizes...), "")
	}
	if body, ok := s.Object(key); !ok || len(body) != 400 {
		t.Errorf("got %d bytes, %v", len(body), ok)
	}
}

func TestWhatR2DoesNotImplement(t *testing.T) {
	t.Parallel()
	s := r2test.New(t, r2test.Options{WriteEvery: -1})
	c := client(t, s, nil)
	for name, o := range map[string]minio.PutObjectOptions{
		"tags": {UserTags: map[string]string{"a": "b"}},
		"lock": {Mode: minio.Compliance, RetainUntilDate: time.Now().Add(time.Hour)},
		"hold": {LegalHold: minio.LegalHoldEnabled},
		"acl":  {UserMetadata: map[string]string{"X-Amz-Acl": "public-read"}},
	} {
		wantCode(t, name, put(t, c, key, "x", o), "NotImplemented")
	}
	trailing := client(t, s, func(o *minio.Options) { o.TrailingHeaders = true })
	wantCode(t, "trailers", put(t, trailing, key, "x", minio.PutObjectOptions{}), "NotImplemented")
	plain := r2test.New(t, r2test.Options{Plain: true})
	wantCode(t, "aws-chunked", put(t, client(t, plain, nil), key, "x", minio.PutObjectOptions{}), "NotImplemented")
	wantCode(t, "none of them", put(t, c, key, "x", minio.PutObjectOptions{}), "")
}

func TestPaceAndCredentials(t *testing.T) {
	t.Parallel()
	s := r2test.New(t, r2test.Options{WriteEvery: time.Hour})
	c := client(t, s, nil)
	wantCode(t, "first", put(t, c, key, "x", minio.PutObjectOptions{}), "")
	wantCode(t, "second", put(t, c, key, "y", minio.PutObjectOptions{}), "TooManyRequests")
	wantCode(t, "another key", put(t, c, key+"2", "y", minio.PutObjectOptions{}), "")
	wrong := client(t, s, func(o *minio.Options) { o.Creds = credentials.NewStaticV4("wrong", "wrong", "") })
	wantCode(t, "wrong key", put(t, wrong, "new", "x", minio.PutObjectOptions{}), "InvalidAccessKeyId")
	s.Rekey("other", "token")
	wantCode(t, "former key", put(t, c, "new", "x", minio.PutObjectOptions{}), "ExpiredToken")
	half := client(t, s, func(o *minio.Options) { o.Creds = credentials.NewStaticV4("other", "x", "") })
	wantCode(t, "no token", put(t, half, "new", "x", minio.PutObjectOptions{}), "InvalidToken")
	right := client(t, s, func(o *minio.Options) { o.Creds = credentials.NewStaticV4("other", "x", "token") })
	wantCode(t, "new key", put(t, right, "new", "x", minio.PutObjectOptions{}), "")
	s.Expire()
	wantCode(t, "expired", put(t, right, "newer", "x", minio.PutObjectOptions{}), "ExpiredToken")
	_, err := right.PutObject(t.Context(), "other-bucket", key, strings.NewReader(""), 0, "", "", minio.PutObjectOptions{})
	wantCode(t, "still expired", err, "ExpiredToken")
}

func TestBucketLock(t *testing.T) {
	t.Parallel()
	s := r2test.New(t, r2test.Options{MinPart: 1, WriteEvery: -1})
	c := client(t, s, nil)
	wantCode(t, "put", put(t, c, key, "x", minio.PutObjectOptions{}), "")
	s.Lock("app/")
	const locked = "ObjectLockedByBucketPolicy"
	wantCode(t, "replace", put(t, c, key, "y", minio.PutObjectOptions{}), locked)
	wantCode(t, "complete", complete(t, c, key, 1), locked)
	wantCode(t, "delete", c.RemoveObject(t.Context(), r2test.Bucket, key, minio.RemoveObjectOptions{}), locked)
	wantCode(t, "put another", put(t, c, key+"2", "y", minio.PutObjectOptions{}), "")
	if body, _ := s.Object(key); string(body) != "x" {
		t.Errorf("got %q", body)
	}
}

func TestConditionsAndTags(t *testing.T) {
	t.Parallel()
	s := r2test.New(t, r2test.Options{MinPart: 1, WriteEvery: -1})
	c := client(t, s, nil)
	once := minio.PutObjectOptions{}
	once.SetMatchETagExcept("*")
	wantCode(t, "first", put(t, c, key, "x", once), "")
	wantCode(t, "second", put(t, c, key, "y", once), "PreconditionFailed")
	info, err := c.StatObject(t.Context(), r2test.Bucket, key, minio.StatObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if sum := md5.Sum([]byte("x")); info.ETag == hex.EncodeToString(sum[:]) {
		t.Error("the tag means something")
	}
	match := minio.GetObjectOptions{}
	if err := match.SetMatchETag(info.ETag); err != nil {
		t.Fatal(err)
	}
	body, again, _, err := c.GetObject(t.Context(), r2test.Bucket, key, match)
	if err != nil || again.ETag != info.ETag {
		t.Fatalf("got %+v, %v", again, err)
	}
	_ = body.Close()
	wantCode(t, "replace", put(t, c, key, "x", minio.PutObjectOptions{}), "")
	_, _, _, err = c.GetObject(t.Context(), r2test.Bucket, key, match)
	wantCode(t, "another object", err, "PreconditionFailed")
	wantCode(t, "a completion ignores it", complete(t, c, key, 5), "")
}
