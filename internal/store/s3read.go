package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// wholeObject as a length reads to the object's end.
const wholeObject = -1

// Open reads an object. A connection that breaks is replaced by one for the rest, as
// long as it is the same object; what cannot be read whole is an error.
func (s *S3) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	return s.open(ctx, key, 0, wholeObject)
}

// OpenRange reads length bytes of an object from offset on. An object that has not as
// many is an error.
func (s *S3) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length <= 0 {
		return nil, fmt.Errorf("open %s: no range of %d bytes from %d on", key, length, offset)
	}
	return s.open(ctx, key, offset, length)
}

func (s *S3) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	name, err := s.name(ctx, "open", key)
	if err != nil {
		return nil, err
	}
	r, err := s.read(ctx, name, offset, length)
	if err != nil {
		return nil, s.fail(ctx, "open", key, err)
	}
	return &s3Body{reader: r, key: key}, nil
}

// s3Body is a reader whose errors are told to people.
type s3Body struct {
	reader *s3Reader
	key    string
}

// Read reads the object.
func (b *s3Body) Read(p []byte) (int, error) {
	n, err := b.reader.Read(p)
	if err != nil && err != io.EOF {
		err = b.reader.s.fail(b.reader.ctx, "read", b.key, err)
	}
	return n, err
}

// Close lets go of the connection.
func (b *s3Body) Close() error { return b.reader.Close() }

// s3Reader reads an object, or a range of it, over as many connections as it takes.
type s3Reader struct {
	s    *S3
	ctx  context.Context
	name string
	etag string // of the object as it was opened; some stores have none
	at   int64  // where the next byte stands
	end  int64

	body    io.ReadCloser // nil between two connections
	lost    error         // what ended the last one
	tries   attempts
	settled int64 // up to here was read when the last connection broke
	err     error
}

// progress in bytes is what makes a broken connection worth full patience again.
const progress = 1 << 20

func (s *S3) read(ctx context.Context, name string, offset, length int64) (*s3Reader, error) {
	r := &s3Reader{s: s, ctx: ctx, name: name, at: offset, settled: offset, end: wholeObject, tries: attempts{patience: s.long}}
	if length != wholeObject {
		r.end = offset + length
	}
	err := s.try(ctx, s.short, func() error { return r.connect() })
	if err != nil {
		return nil, s.absent(ctx, err)
	}
	s.there.Store(true)
	return r, nil
}

func (r *s3Reader) left() int64 { return r.end - r.at }

// connect asks for what is left.
func (r *s3Reader) connect() error {
	options := minio.GetObjectOptions{}
	ranged := r.end != wholeObject
	if ranged {
		options.Set("Range", fmt.Sprintf("bytes=%d-%d", r.at, r.end-1))
	}
	if r.etag != "" {
		if err := options.SetMatchETag(r.etag); err != nil {
			return err
		}
	}
	body, object, header, err := r.s.core.GetObject(r.ctx, r.s.bucket, r.name, options)
	err = r.s.told(err)
	switch {
	case r.etag != "" && (isPrecondition(err) || isNoKey(err)):
		return errChanged
	case replyOf(err).status == http.StatusRequestedRangeNotSatisfiable:
		return errNoRange
	case err != nil:
		return err
	}
	if err := r.check(object, header, ranged); err != nil {
		_ = body.Close()
		return err
	}
	r.body = body
	return nil
}

// check holds a reply against what was asked for.
func (r *s3Reader) check(object minio.ObjectInfo, header http.Header, ranged bool) error {
	if object.Size < 0 {
		return errNoSize
	}
	if !ranged {
		r.etag, r.end = object.ETag, object.Size
		return nil
	}
	var from, to int64
	_, err := fmt.Sscanf(header.Get("Content-Range"), "bytes %d-%d/", &from, &to)
	if err != nil || from != r.at || to != r.end-1 || object.Size != r.left() {
		return errNoRange
	}
	if r.etag == "" {
		r.etag = object.ETag
	} else if object.ETag != r.etag {
		return errChanged
	}
	return nil
}

// Read reads on, over a new connection where the last one broke. The end is where the
// object ends, not where a connection does.
func (r *s3Reader) Read(p []byte) (int, error) {
	for r.err == nil {
		if r.at == r.end {
			r.err = io.EOF
			break
		}
		if r.body == nil {
			r.reconnect()
			continue
		}
		n, err := r.body.Read(p[:min(int64(len(p)), r.left())])
		r.at += int64(n)
		if err != nil {
			r.drop(err)
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, r.err
}

// drop lets go of a connection that ended.
func (r *s3Reader) drop(err error) {
	_ = r.body.Close()
	r.body = nil
	r.lost = r.s.told(err)
	if r.at-r.settled >= progress {
		r.tries.moved()
	}
	r.settled = r.at
}

// reconnect waits and asks for the rest; what cannot be had ends the reader.
func (r *s3Reader) reconnect() {
	if !r.tries.again(r.ctx, r.lost) {
		r.err = r.tries.over(r.lost)
		return
	}
	if err := r.connect(); err != nil {
		r.lost = err
		if errors.Is(err, errNoRange) && r.etag == "" {
			r.err = errChanged // without a tag this is how a change shows
		}
	}
}

// Close lets go of the connection.
func (r *s3Reader) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	if r.err == nil {
		r.err = errEnded
	}
	return err
}
