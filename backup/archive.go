package backup

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"filippo.io/age"

	"github.com/heyaira/heyaira-loop/internal/store"
)

// archive is a stored object as the archive that pg_dump wrote. It is hashed once more
// on the way: the last byte is held back until everything before it was read and is
// known to be what the manifest says, so nobody can take a changed archive for whole.
type archive struct {
	key    string
	object Object
	body   io.ReadCloser
	seen   *witnessed
	plain  io.ReadCloser
	ahead  *bufio.Reader
	proven bool
}

// openArchive opens an object with the first of the identities that fits. It reads
// age's header only.
func openArchive(ctx context.Context, st store.Store, key string, object Object, identities []age.Identity) (*archive, error) {
	body, err := st.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	seen := newWitnessed(body)
	plain, err := unseal(seen, identities)
	if err != nil {
		_ = body.Close() // nothing was read that matters
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	return &archive{key: key, object: object, body: body, seen: seen, plain: plain, ahead: bufio.NewReaderSize(plain, block)}, nil
}

// Read answers bytes of the archive, the last one only when all is proven.
func (a *archive) Read(p []byte) (int, error) {
	switch _, err := a.ahead.Peek(2); {
	case err == nil:
		return a.ahead.Read(p[:min(len(p), a.ahead.Buffered()-1)])
	case err != io.EOF:
		return 0, err
	}
	if !a.proven {
		if err := a.prove(); err != nil {
			return 0, err
		}
		a.proven = true
	}
	return a.ahead.Read(p)
}

func (a *archive) prove() error {
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{a.seen}); err != nil {
		return fmt.Errorf("read %s: %w", a.key, err)
	}
	return a.seen.compare(a.object)
}

// Close lets go of the object, wherever reading stopped.
func (a *archive) Close() error {
	err := a.plain.Close()
	if closed := a.body.Close(); err == nil {
		err = closed
	}
	return err
}
