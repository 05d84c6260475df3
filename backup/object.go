package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/heyaira/heyaira-loop/internal/store"
)

// ageHeader is the first line of every age file.
const ageHeader = "age-encryption.org/v1\n"

// checkObject reads a stored object to its end and compares it with the manifest.
// It answers a *refutation where the bytes are not those that were written, and the
// store's own error where they could not be read.
func checkObject(ctx context.Context, st store.Store, key string, object Object, report func(bytes int64)) error {
	body, err := st.Open(ctx, key)
	if err != nil {
		return err
	}
	seen := newWitnessed(&progress{ctx: ctx, source: body, report: report})
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{seen}, make([]byte, block))
	if closed := body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return seen.compare(object)
}

// witnessed is a reader that hashes and counts what went through it, and keeps the
// first line.
type witnessed struct {
	source io.Reader
	sum    hash.Hash
	bytes  int64
	head   bytes.Buffer
}

func newWitnessed(source io.Reader) *witnessed {
	return &witnessed{source: source, sum: sha256.New()}
}

func (w *witnessed) Read(p []byte) (int, error) {
	n, err := w.source.Read(p)
	w.sum.Write(p[:n])
	w.bytes += int64(n)
	if missing := len(ageHeader) - w.head.Len(); missing > 0 {
		w.head.Write(p[:min(n, missing)])
	}
	return n, err
}

// compare judges what went through, when it was all. nil: it is the object.
func (w *witnessed) compare(object Object) error {
	switch {
	case w.bytes != object.Size:
		return &refutation{fmt.Sprintf("%s has %d bytes, the manifest says %d", object.Key, w.bytes, object.Size)}
	case hex.EncodeToString(w.sum.Sum(nil)) != object.SHA256:
		return &refutation{object.Key + " has another SHA-256 than the manifest says"}
	case w.head.String() != ageHeader:
		return &refutation{object.Key + " is no age file"}
	}
	return nil
}
