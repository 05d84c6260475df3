package store

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/minio/minio-go/v7"
)

// List walks the bucket page by page. A page that fails is asked for again from the
// last key on. What is no key of ours, such as the markers by which some tools show
// folders, is passed over.
func (s *S3) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := checkPrefix(prefix); err != nil {
			yield(Info{}, err)
			return
		}
		last := after
		t := attempts{patience: s.short}
		for {
			keys := s.keys.current()
			done, err := s.listFrom(ctx, prefix, &last, &t, yield)
			if done {
				return
			}
			if ctx.Err() != nil {
				// A listing that breaks off must not look whole.
				yield(Info{}, fmt.Errorf("list %s: %w", s, context.Cause(ctx)))
				return
			}
			if err == nil {
				s.there.Store(true)
				return
			}
			if isExpired(err) && s.keys.renew(keys) {
				continue
			}
			if !t.again(ctx, err) {
				yield(Info{}, s.fail(ctx, "list", s.String(), t.over(err)))
				return
			}
		}
	}
}

// listFrom walks on behind the last key until the end, an error or the reader's leave.
func (s *S3) listFrom(ctx context.Context, prefix string, last *string, t *attempts, yield func(Info, error) bool) (done bool, err error) {
	noOwner := false
	options := minio.ListObjectsOptions{Prefix: s.root + prefix, Recursive: true, MaxKeys: s.pageSize, FetchOwner: &noOwner}
	if *last != "" {
		options.StartAfter = s.root + *last
	}
	for object := range s.core.ListObjectsIter(ctx, s.bucket, options) {
		if object.Err != nil || ctx.Err() != nil {
			return false, s.told(object.Err)
		}
		key, ours := strings.CutPrefix(object.Key, s.root)
		if !ours || !strings.HasPrefix(key, prefix) || key <= *last && *last != "" {
			return false, errOutOfOrder
		}
		*last = key
		t.moved()
		if checkKey(key) != nil {
			continue
		}
		if !yield(Info{Key: key, Size: object.Size, Modified: object.LastModified}, nil) {
			return true, nil
		}
	}
	return false, nil
}
