package store

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Upload is an upload that was begun and neither committed nor aborted. Its parts
// take room and are paid for, and no listing of objects shows them.
type Upload struct {
	Key     string
	ID      string
	Started time.Time // by the store's clock
}

// Sweeper is a store that keeps what interrupted writers left behind.
type Sweeper interface {
	// Uploads walks open uploads of keys that begin with prefix.
	Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error]
	// AbortUpload drops an upload; a missing one is no error.
	AbortUpload(ctx context.Context, u Upload) error
}

var _ Sweeper = (*S3)(nil)

// Uploads walks the open uploads below a prefix, page by page.
func (s *S3) Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		if err := checkPrefix(prefix); err != nil {
			yield(Upload{}, err)
			return
		}
		var page minio.ListMultipartUploadsResult
		for more := true; more; more = page.IsTruncated {
			key, id := page.NextKeyMarker, page.NextUploadIDMarker
			err := s.try(ctx, s.short, func() (err error) {
				page, err = s.core.ListMultipartUploads(ctx, s.bucket, s.root+prefix, key, id, "", s.pageSize)
				return err
			})
			if err == nil && page.IsTruncated && page.NextKeyMarker == key && page.NextUploadIDMarker == id {
				err = errOutOfOrder
			}
			if err != nil || ctx.Err() != nil {
				yield(Upload{}, s.fail(ctx, "list uploads to", s.String(), err))
				return
			}
			for _, upload := range page.Uploads {
				name, ours := strings.CutPrefix(upload.Key, s.root)
				if !ours || !strings.HasPrefix(name, prefix) || checkKey(name) != nil {
					continue
				}
				if !yield(Upload{Key: name, ID: upload.UploadID, Started: upload.Initiated}, nil) {
					return
				}
			}
		}
	}
}

// AbortUpload drops an upload and its parts.
func (s *S3) AbortUpload(ctx context.Context, u Upload) error {
	name, err := s.name(ctx, "abort the upload of", u.Key)
	if err != nil {
		return err
	}
	if err := s.abortUpload(ctx, name, u.ID); err != nil {
		return s.fail(ctx, "abort the upload of", u.Key, err)
	}
	return nil
}

// abortTries bounds how often an upload is aborted that will not go.
const abortTries = 3

// abortUpload drops an upload and looks whether it is gone: a part that was still on
// its way may have brought it back.
func (s *S3) abortUpload(ctx context.Context, name, id string) error {
	for range abortTries {
		err := s.try(ctx, s.short, func() error {
			return s.core.AbortMultipartUpload(ctx, s.bucket, name, id)
		})
		if isNoUpload(err) {
			return nil
		}
		if err != nil {
			return err
		}
		err = s.try(ctx, s.short, func() error {
			_, err := s.core.ListObjectParts(ctx, s.bucket, name, id, 0, 1)
			return err
		})
		if err != nil {
			// Gone, or not for us to see: the store has confirmed the abort itself.
			return nil
		}
	}
	return fmt.Errorf("%w after %d aborts", errStillThere, abortTries)
}
