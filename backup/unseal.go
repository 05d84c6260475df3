package backup

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"github.com/heyaira/heyaira-loop/lease"
)

var (
	// errDamaged says that a ciphertext is cut, changed, or none of ours.
	errDamaged = errors.New("backup is cut or damaged")
	// errNoKey says that none of the identities opens a ciphertext.
	errNoKey = errors.New("no identity given opens this backup")
)

// windowLimit bounds what a stream may ask of memory, in bytes.
const windowLimit = 64 << 20

// unseal decrypts and decompresses src. Reading answers io.EOF only after the last
// byte was authenticated; a ciphertext that is cut or changed is errDamaged, no key
// for it errNoKey (blocked), and a src that fails is that failure, never io.EOF or
// io.ErrUnexpectedEOF. What was read before an error is not to be trusted as a whole.
func unseal(src io.Reader, identities []age.Identity) (io.ReadCloser, error) {
	from := &origin{src: src}
	plain, err := age.Decrypt(from, identities...)
	if err != nil {
		var none *age.NoIdentityMatchError
		if errors.As(err, &none) {
			return nil, lease.WithClass(lease.Blocked, advise(fmt.Errorf("decrypt: %w", errNoKey), "the manifest's recipients are fingerprints of the keys that can"))
		}
		return nil, from.explain("decrypt", err)
	}
	decoder, err := zstd.NewReader(&explained{plain, from, "decrypt"}, zstd.WithDecoderMaxWindow(windowLimit))
	if err != nil {
		return nil, from.explain("decompress", err)
	}
	return &opened{explained{decoder, from, "decompress"}, decoder}, nil
}

// origin remembers how reading the ciphertext failed, which the layers above blur.
// The decoder reads ahead, so it is asked and written at the same time.
type origin struct {
	src    io.Reader
	failed atomic.Pointer[error]
}

func (o *origin) Read(p []byte) (int, error) {
	n, err := o.src.Read(p)
	if err != nil && err != io.EOF {
		o.failed.Store(&err)
	}
	return n, err
}

// explain says whose fault an error is: that of the source, or of its bytes.
func (o *origin) explain(verb string, err error) error {
	if failed := o.failed.Load(); failed != nil {
		if errors.Is(*failed, io.EOF) || errors.Is(*failed, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s: read: %v", verb, *failed) // no reader may take it for an end
		}
		return fmt.Errorf("%s: read: %w", verb, *failed)
	}
	switch {
	case errors.Is(err, errDamaged):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %w: it ends too early", verb, errDamaged)
	}
	return fmt.Errorf("%s: %w: %v", verb, errDamaged, err)
}

// explained is a layer whose errors are explained.
type explained struct {
	io.Reader
	origin *origin
	verb   string
}

func (e *explained) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = e.origin.explain(e.verb, err)
	}
	return n, err
}

// opened is the plaintext with what has to be released.
type opened struct {
	explained
	decoder *zstd.Decoder
}

// Close releases the decoder. It says nothing of the stream's wholeness.
func (o *opened) Close() error {
	o.decoder.Close()
	return nil
}
