package store

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// S3Options say where a bucket is and how it is written to.
type S3Options struct {
	Endpoint string // https://host[:port]; http only where the network can be trusted
	Bucket   string
	Prefix   string // stands before every key, with a slash between; may be empty
	Region   string // empty: what the endpoint tells
	// Keys answers the credentials. It is asked before the first request, and again
	// when the store says that they have expired.
	Keys func() (Keys, error)
	// PartSize is the size of the parts of an upload in bytes. Zero: chosen for each
	// object from its size. Three parts are held in memory.
	PartSize int64
	// RootCAs are trusted in place of the system's.
	RootCAs *x509.CertPool
}

// S3 is a store in a bucket of S3, R2 or whatever speaks like them. What it asks of
// one is the least that R2 offers: parts of one size, two at a time, Content-MD5 on
// each, If-None-Match on plain puts, deletes one by one. ETags are compared, never
// understood. An object is uploaded under its final key, and stands there whole from
// the commit on; what was asked and not answered is asked about, never assumed.
type S3 struct {
	core     *minio.Core
	wire     *wire
	keys     *keyring
	endpoint *url.URL
	bucket   string
	root     string // the prefix of all keys, with its slash
	partSize int64  // 0: chosen for each object
	pageSize int    // of a listing; 0: the store's
	short    patience
	long     patience
	there    *atomic.Bool // the bucket was seen
}

var _ Store = (*S3)(nil)

// NewS3 opens a store in a bucket. It asks the store nothing yet.
func NewS3(o S3Options) (*S3, error) {
	endpoint, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if err := s3utils.CheckValidBucketNameStrict(o.Bucket); err != nil {
		return nil, fmt.Errorf("open bucket %q: %w", o.Bucket, err)
	}
	root := strings.Trim(o.Prefix, "/")
	if root != "" {
		if err := checkKey(root); err != nil {
			return nil, err
		}
		root += "/"
	}
	if o.PartSize != 0 && (o.PartSize < minPartSize || o.PartSize > maxPartSize) {
		return nil, fmt.Errorf("open bucket %s: a part has 5 MiB to 5 GiB, not %d bytes", o.Bucket, o.PartSize)
	}
	if o.Keys == nil {
		return nil, fmt.Errorf("open bucket %s: no credentials", o.Bucket)
	}
	s := &S3{
		wire:     newWire(o.RootCAs),
		keys:     &keyring{source: o.Keys},
		endpoint: endpoint,
		bucket:   o.Bucket,
		root:     root,
		partSize: o.PartSize,
		short:    shortPatience,
		long:     longPatience,
		there:    new(atomic.Bool),
	}
	s.core, err = minio.NewCore(endpoint.Host, &minio.Options{
		Creds:      credentials.New(s.keys),
		Secure:     endpoint.Scheme == "https",
		Transport:  s.wire,
		Region:     regionOf(o.Region, endpoint),
		MaxRetries: 1, // the retries are ours: of every verb, and with an end
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", o.Bucket, err)
	}
	return s, nil
}

// parseEndpoint takes apart what a person wrote; a secret in it is not repeated.
func parseEndpoint(text string) (*url.URL, error) {
	endpoint, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("open store: its endpoint is no URL")
	case endpoint.User != nil:
		return nil, errors.New("open store: credentials in an endpoint are not accepted")
	case endpoint.Scheme != "https" && endpoint.Scheme != "http", endpoint.Host == "":
		return nil, fmt.Errorf("open store: endpoint %q does not begin with https:// and a host", text)
	case strings.Trim(endpoint.Path, "/") != "", endpoint.RawQuery != "", endpoint.Fragment != "":
		return nil, fmt.Errorf("open store: endpoint %s%s has more than a host: name bucket and prefix apart from it", endpoint.Scheme+"://", endpoint.Host)
	}
	return endpoint, nil
}

// regionOf answers the region to sign for. Without one, Amazon's endpoints name it or
// are asked; the others ignore it, or have the one that everybody has.
func regionOf(region string, endpoint *url.URL) string {
	switch {
	case region != "":
		return region
	case s3utils.IsAmazonEndpoint(*endpoint):
		return ""
	case strings.HasSuffix(endpoint.Hostname(), ".r2.cloudflarestorage.com"):
		return "auto"
	}
	return "us-east-1"
}

// String is bucket, prefix and endpoint.
func (s *S3) String() string {
	return fmt.Sprintf("s3://%s/%s at %s", s.bucket, strings.TrimSuffix(s.root, "/"), s.endpoint.Host)
}

// Stat asks for an object's size and time.
func (s *S3) Stat(ctx context.Context, key string) (Info, error) {
	name, err := s.name(ctx, "look up", key)
	if err != nil {
		return Info{}, err
	}
	info, err := s.head(ctx, key, name)
	if err != nil {
		return Info{}, s.fail(ctx, "look up", key, err)
	}
	return info, nil
}

// Remove deletes an object and looks whether it is gone, since a store may say yes
// and keep it.
func (s *S3) Remove(ctx context.Context, key string) error {
	name, err := s.name(ctx, "remove", key)
	if err != nil {
		return err
	}
	err = s.try(ctx, s.short, func() error {
		return s.core.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{})
	})
	if err != nil && !isNoKey(err) {
		return s.fail(ctx, "remove", key, err)
	}
	_, err = s.head(ctx, key, name)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err == nil:
		err = errStillThere
	}
	return s.fail(ctx, "remove", key, err)
}

// name answers what a key is called in the bucket.
func (s *S3) name(ctx context.Context, verb, key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	if len(s.root)+len(key) > maxKey {
		return "", badKey(key, fmt.Sprintf("longer than %d bytes with the store's prefix", maxKey))
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s %s: %w", verb, key, context.Cause(ctx))
	}
	return s.root + key, nil
}

// head looks an object up; ErrNotFound.
func (s *S3) head(ctx context.Context, key, name string) (Info, error) {
	var object minio.ObjectInfo
	err := s.try(ctx, s.short, func() (err error) {
		object, err = s.core.StatObject(ctx, s.bucket, name, minio.StatObjectOptions{})
		return err
	})
	if err != nil {
		return Info{}, s.absent(ctx, err)
	}
	s.there.Store(true)
	if object.Size < 0 {
		return Info{}, errNoSize
	}
	return Info{Key: key, Size: object.Size, Modified: object.LastModified}, nil
}

// absent turns the store's word for a missing object into ErrNotFound, but only where
// its bucket is there: empty is not gone. The reply to a HEAD has no body that would
// tell one from the other.
func (s *S3) absent(ctx context.Context, err error) error {
	if !isNoKey(err) {
		return err
	}
	if s.there.Load() {
		return ErrNotFound
	}
	exists := false
	err = s.try(ctx, s.short, func() (err error) {
		exists, err = s.core.BucketExists(ctx, s.bucket)
		return err
	})
	switch {
	case err != nil && replyOf(err).status != http.StatusForbidden:
		return err
	case err == nil && !exists:
		return errNoBucket
	}
	// Who may read objects and not ask for the bucket was answered about the object.
	s.there.Store(true)
	return ErrNotFound
}
