package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7"
)

// cleanup bounds how long an upload that failed is tried to be aborted.
const cleanup = 30 * time.Second

// Commit sends what is left, has the parts put together and looks at what stands
// there. What fits into one part is put with If-None-Match; an upload cannot be, so
// its key is looked at before. Where it fails nothing is left, unless the store
// cannot be reached any more.
func (w *s3Writer) Commit(ctx context.Context) (Info, error) {
	if w.ended {
		return Info{}, w.s.fail(ctx, "commit", w.key, errEnded)
	}
	// The parts that are still in flight belong to this call now.
	stop := context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
	info, err := w.publish(ctx)
	stop()
	w.end()
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

func (w *s3Writer) publish(ctx context.Context) (Info, error) {
	if ctx.Err() != nil {
		w.cancel(context.Cause(ctx))
	}
	if w.ctx.Err() == nil && w.upload == "" {
		info, err := w.putWhole(ctx)
		if err != nil {
			return Info{}, w.s.fail(ctx, "commit", w.key, err)
		}
		return info, nil
	}
	err := w.flush()
	if err == nil {
		err = w.vacant(ctx)
	}
	if err == nil {
		err = w.complete(ctx)
	}
	if err == nil {
		var info Info
		if info, err = w.s.kept(ctx, w.key, w.name, w.total); err == nil {
			return info, nil
		}
	}
	failed := w.s.fail(ctx, "commit", w.key, err)
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	if aborted := w.abort(clean); aborted != nil {
		failed = fmt.Errorf("%w; and %w", failed, aborted)
	}
	return Info{}, failed
}

// putWhole puts an object of one part.
func (w *s3Writer) putWhole(ctx context.Context) (Info, error) {
	var body []byte
	if w.filling != nil {
		body = w.filling.bytes()
	}
	if err := w.s.putOnce(ctx, w.name, body); err != nil {
		return Info{}, err
	}
	return w.s.kept(ctx, w.key, w.name, w.total)
}

// flush sends the last part and waits for all of them.
func (w *s3Writer) flush() error {
	if w.ctx.Err() == nil {
		if err := w.send(); err != nil {
			w.cancel(err)
		}
	}
	w.sending.Wait()
	return context.Cause(w.ctx)
}

// vacant looks whether the key is free. Keys are made for one attempt each; nothing
// but a mistake can have taken it, or take it between this and the completion.
func (w *s3Writer) vacant(ctx context.Context) error {
	_, err := w.s.head(ctx, w.key, w.name)
	switch {
	case err == nil:
		return ErrExists
	case errors.Is(err, ErrNotFound):
		return nil
	}
	return err
}

// complete has the parts put together. Where the reply does not say whether that was
// done, the upload is aborted, so that it cannot be done later; then the key tells.
func (w *s3Writer) complete(ctx context.Context) error {
	unsure := false
	err := w.s.try(ctx, w.s.long, func() error {
		_, err := w.s.core.CompleteMultipartUpload(ctx, w.s.bucket, w.name, w.upload, w.sent, minio.PutObjectOptions{})
		unsure = unsure || err != nil && !isRefusal(w.s.told(err))
		return err
	})
	if err == nil || !unsure || ctx.Err() != nil {
		return err
	}
	if aborted := w.abort(ctx); aborted != nil {
		return fmt.Errorf("%w; and %w", err, aborted)
	}
	if _, asked := w.s.kept(ctx, w.key, w.name, w.total); asked != nil {
		if errors.Is(asked, errNotKept) {
			return err
		}
		return fmt.Errorf("%w; and asking for it: %w", err, asked)
	}
	return nil
}

// Abort ends the upload and everything in flight. It does nothing after Commit or
// Abort.
func (w *s3Writer) Abort(ctx context.Context) error {
	if w.ended {
		return nil
	}
	w.end()
	return w.abort(ctx)
}

// abort drops the upload, if it was begun.
func (w *s3Writer) abort(ctx context.Context) error {
	w.cancel(errEnded)
	w.sending.Wait()
	if w.upload == "" {
		return nil
	}
	if err := w.s.abortUpload(ctx, w.name, w.upload); err != nil {
		return w.s.fail(ctx, "abort the upload of", w.key, err)
	}
	return nil
}
