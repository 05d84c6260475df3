package store

import (
	"context"
	"sync"

	"github.com/minio/minio-go/v7"
)

// inFlight is how many parts are sent at a time. R2 has allowed three of one upload,
// and clients that live with it use two.
const inFlight = 2

// Create begins an object. It asks the store nothing before the first part is full:
// what fits into one part is put at once, by Commit.
func (s *S3) Create(ctx context.Context, key string, size int64) (Writer, error) {
	name, err := s.name(ctx, "create", key)
	if err != nil {
		return nil, err
	}
	part := s.partSize
	if part == 0 {
		part = partSizeFor(size)
	}
	w := &s3Writer{
		s: s, key: key, name: name, part: part,
		free:  make(chan *partBuffer, inFlight+1),
		slots: make(chan struct{}, inFlight),
	}
	w.work = ctx
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	return w, nil
}

// s3Writer cuts what is written into parts and sends them while the next one fills.
type s3Writer struct {
	s    *S3
	key  string
	name string
	part int64 // the size of every part but the last

	work   context.Context // of who writes
	ctx    context.Context // of the parts: ends with work and with the first failure
	cancel context.CancelCauseFunc

	filling *partBuffer
	made    int              // buffers
	free    chan *partBuffer // that can be filled again
	slots   chan struct{}    // of parts in flight
	sending sync.WaitGroup

	upload string // its id; empty before the first part is full
	total  int64
	ended  bool

	mu   sync.Mutex
	sent []minio.CompletePart // in the order of their numbers
}

// Write takes bytes into the part that fills. It waits while two parts are in flight
// and one is full. After an error the object cannot be committed.
func (w *s3Writer) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		err := w.room()
		if err != nil {
			return written, w.broken("write", err)
		}
		n := w.filling.fill(p[written:])
		written += n
		w.total += int64(n)
	}
	return written, nil
}

// broken fails the object for good. The first failure stays its cause.
func (w *s3Writer) broken(verb string, err error) error {
	w.cancel(err)
	return w.s.fail(w.work, verb, w.key, context.Cause(w.ctx))
}

// room makes sure of a buffer with room in it. A full part is sent only when more
// comes, so the last part is never empty and what fits into one part is no upload.
func (w *s3Writer) room() error {
	switch {
	case w.ended:
		return errEnded
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case w.filling == nil:
	case w.filling.full():
		if err := w.send(); err != nil {
			return err
		}
	default:
		return nil
	}
	buffer, err := w.buffer()
	w.filling = buffer
	return err
}

// buffer answers an empty buffer: a new one up to as many as can be in use.
func (w *s3Writer) buffer() (*partBuffer, error) {
	select {
	case buffer := <-w.free:
		return buffer, nil
	default:
	}
	if w.made <= inFlight {
		w.made++
		return newPartBuffer(w.part)
	}
	select {
	case buffer := <-w.free:
		return buffer, nil
	case <-w.ctx.Done():
		return nil, context.Cause(w.ctx)
	}
}

// send sends the part that filled, in the background, once a slot is free. The first
// one begins the upload.
func (w *s3Writer) send() error {
	if len(w.sent) == maxParts {
		return tooManyParts(w.key, w.part)
	}
	if w.upload == "" {
		if err := w.begin(); err != nil {
			return err
		}
	}
	select {
	case w.slots <- struct{}{}:
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
	part := w.filling
	w.filling = nil
	w.mu.Lock()
	w.sent = append(w.sent, minio.CompletePart{PartNumber: len(w.sent) + 1})
	number := len(w.sent)
	w.mu.Unlock()
	w.sending.Go(func() {
		if err := w.sendPart(number, part.bytes()); err != nil {
			w.cancel(err)
		}
		part.filled = 0
		w.free <- part
		<-w.slots
	})
	return nil
}

// begin begins the upload. Where the reply is lost, an upload without parts is left,
// which the sweep of old uploads finds.
func (w *s3Writer) begin() error {
	return w.s.try(w.ctx, w.s.long, func() (err error) {
		w.upload, err = w.s.core.NewMultipartUpload(w.ctx, w.s.bucket, w.name, minio.PutObjectOptions{})
		if err == nil && w.upload == "" {
			err = errNotStore
		}
		return err
	})
}

// sendPart sends one part until it is taken. The same part may be sent twice: it
// replaces itself.
func (w *s3Writer) sendPart(number int, part []byte) error {
	digests := w.s.digests(part)
	return w.s.try(w.ctx, w.s.long, func() error {
		body := newPartBody(part)
		defer body.retire()
		taken, err := w.s.core.PutObjectPart(w.ctx, w.s.bucket, w.name, w.upload, number, body, int64(len(part)),
			minio.PutObjectPartOptions{Md5Base64: digests.md5, Sha256Hex: digests.sha256, DisableContentSha256: true})
		if err != nil {
			return err
		}
		if taken.ETag == "" {
			return errNoTag
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent[number-1].ETag = taken.ETag
		return nil
	})
}

// end waits for what is in flight and gives the memory back.
func (w *s3Writer) end() {
	w.ended = true
	w.cancel(errEnded)
	w.sending.Wait()
	if w.filling != nil {
		w.filling.free()
		w.filling = nil
	}
	for len(w.free) > 0 {
		(<-w.free).free()
	}
}
