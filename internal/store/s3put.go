package store

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"
)

// PutOnce puts an object with If-None-Match, then looks at what stands there. A store
// that ignores the condition is found out by Probe.
func (s *S3) PutOnce(ctx context.Context, key string, body []byte) error {
	name, err := s.name(ctx, "put", key)
	if err != nil {
		return err
	}
	if err = s.putOnce(ctx, name, body); err == nil {
		_, err = s.kept(ctx, key, name, int64(len(body)))
	}
	if err != nil {
		return s.fail(ctx, "put", key, err)
	}
	return nil
}

// putOnce puts a whole object; ErrExists where one stood. A reply that did not come
// is resolved by asking: what is there is ours if it is what we sent.
func (s *S3) putOnce(ctx context.Context, name string, body []byte) error {
	digests := s.digests(body)
	unsure := false
	err := s.try(ctx, s.long, func() error {
		reader := newPartBody(body)
		defer reader.retire()
		options := minio.PutObjectOptions{DisableContentSha256: true}
		options.SetMatchETagExcept("*")
		_, err := s.core.PutObject(ctx, s.bucket, name, reader, int64(len(body)), digests.md5, digests.sha256, options)
		unsure = unsure || err != nil && !isRefusal(s.told(err))
		return err
	})
	switch {
	case err == nil:
		return nil
	case !unsure && (isPrecondition(err) || errors.Is(err, ErrRetained)):
		return ErrExists // what a lock keeps from being replaced stands there
	case !unsure || ctx.Err() != nil:
		return err
	}
	ours, asked := s.holds(ctx, name, body)
	switch {
	case asked == nil && ours:
		return nil
	case asked == nil:
		return ErrExists
	case errors.Is(asked, ErrNotFound):
		return err
	}
	return fmt.Errorf("%w; and asking for it: %w", err, asked)
}

// holds tells whether exactly this body stands under a name; ErrNotFound.
func (s *S3) holds(ctx context.Context, name string, body []byte) (bool, error) {
	r, err := s.read(ctx, name, 0, wholeObject)
	if err != nil {
		return false, err
	}
	defer r.Close()
	if r.left() != int64(len(body)) {
		return false, nil
	}
	there := make([]byte, 64<<10)
	for rest := body; ; {
		n, err := r.Read(there)
		if !bytes.HasPrefix(rest, there[:n]) {
			return false, nil
		}
		if rest = rest[n:]; err == io.EOF {
			return len(rest) == 0, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// kept looks at what stands under a name after it was written. A store over its quota
// has been seen to say yes and keep nothing.
func (s *S3) kept(ctx context.Context, key, name string, size int64) (Info, error) {
	info, err := s.head(ctx, key, name)
	switch {
	case errors.Is(err, ErrNotFound):
		return Info{}, errNotKept
	case err != nil:
		return Info{}, err
	case info.Size != size:
		return Info{}, fmt.Errorf("%w: %d bytes were written, %d stand there", errNotKept, size, info.Size)
	}
	return info, nil
}

// digests are the sums that go with a body: its MD5 always, so that nothing broken on
// the way is kept. Where no TLS guards the way the body is signed too.
type digests struct {
	md5    string
	sha256 string
}

func (s *S3) digests(body []byte) digests {
	sum := md5.Sum(body)
	d := digests{md5: base64.StdEncoding.EncodeToString(sum[:])}
	if s.endpoint.Scheme != "https" {
		sum := sha256.Sum256(body)
		d.sha256 = hex.EncodeToString(sum[:])
	}
	return d
}
