// Package store keeps objects in a folder or a bucket behind one small interface.
//
// A key is a relative slash path; it never leaves the store's root. Nothing becomes
// visible under a key before Commit or PutOnce returns, and what they return from is
// durable. Errors carry a class of package lease (blocked where the surroundings are
// wrong: no such folder, access refused, disk full; else transient), name the key,
// and hold no secret.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

var (
	// ErrNotFound says that no object stands under the key.
	ErrNotFound = errors.New("object not found")
	// ErrExists says that PutOnce or Commit found an object under the key.
	ErrExists = errors.New("object exists")
)

// Info describes an object. Modified is the store's clock, for grace times only.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
}

// Store is a folder or a bucket. Safe for concurrent use.
type Store interface {
	// Create begins an object of about size bytes (0: unknown), invisible until Commit.
	Create(ctx context.Context, key string, size int64) (Writer, error)
	// PutOnce writes a whole small object only if none stands under the key; ErrExists
	// otherwise. Of racing writers exactly one succeeds.
	PutOnce(ctx context.Context, key string, body []byte) error
	// Stat looks an object up; ErrNotFound.
	Stat(ctx context.Context, key string) (Info, error)
	// Open reads an object from its start; ErrNotFound. A body that ends early is an error.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// List walks objects whose keys begin with prefix, in byte order of their keys,
	// starting after the key after (empty: from the first).
	List(ctx context.Context, prefix, after string) iter.Seq2[Info, error]
	// Remove deletes an object and makes sure that it is gone; a missing one is no error.
	Remove(ctx context.Context, key string) error
	// String names the place for people, without secrets.
	String() string
}

// Writer takes the bytes of one object. The end of the bytes never means commit.
// Exactly one of Commit and Abort ends it; after either, Write fails.
type Writer interface {
	io.Writer
	// Commit makes the object visible, durable and immutable under its key, then
	// looks at it and answers what stands there; ErrExists where one stood before.
	Commit(ctx context.Context) (Info, error)
	// Abort leaves nothing behind. Call it with a context that survives cancellation.
	Abort(ctx context.Context) error
}
