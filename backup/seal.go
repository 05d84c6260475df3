package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// fastWindow is how far back the fastest compression looks, in bytes. It fits a core's
// cache: rows repeat their neighbours, and the encoder's own four times larger one is a
// third slower and saves nothing measurable.
const fastWindow = 1 << 20

// sealer compresses what is written to it, encrypts that, and hands it on. Memory is
// constant.
type sealer struct {
	zstd  *zstd.Encoder
	age   io.WriteCloser
	meter *meter
	plain int64 // bytes written so far
	err   error // the first failure; after one nothing is ever finished
}

// newSealer begins a ciphertext for the recipients on dst. level is zstd's, 1 to 19.
// End it with Close, or with Abort where anything has failed.
func newSealer(dst io.Writer, recipients []age.Recipient, level int) (*sealer, error) {
	s := &sealer{meter: &meter{dst: dst, sum: sha256.New()}}
	var err error
	if s.age, err = age.Encrypt(s.meter, recipients...); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	if s.zstd, err = zstd.NewWriter(s.age, encoderOptions(level)...); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return s, nil
}

// encoderOptions map zstd's levels to three of the encoder's four. The slowest is left
// out: it takes more memory than a backup may have, and saves less than a hundredth.
//
// The encoder works in its caller's goroutine. The server's process and pg_dump keep
// two cores busy already, and handing blocks from goroutine to goroutine was measured
// to take twice the processor time for the same bytes.
func encoderOptions(level int) []zstd.EOption {
	options := []zstd.EOption{zstd.WithEncoderConcurrency(1)}
	switch {
	case level <= 3:
		return append(options, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(fastWindow))
	case level <= 6:
		return append(options, zstd.WithEncoderLevel(zstd.SpeedDefault))
	}
	return append(options, zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
}

// Write seals p.
func (s *sealer) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.zstd.Write(p)
	s.plain += int64(n)
	return n, s.fail(err)
}

// ReadFrom seals all of src, without a copy. A src that fails leaves a sealer that
// cannot be closed cleanly.
func (s *sealer) ReadFrom(src io.Reader) (int64, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.zstd.ReadFrom(src)
	s.plain += n
	return n, s.fail(err)
}

// Close finishes the compressed stream, then the encrypted one. Only after it has
// answered nil is the ciphertext whole; dst itself stays open. After a failed write
// it answers that failure and finishes nothing.
func (s *sealer) Close() error {
	if s.err != nil {
		return s.err
	}
	if s.plain == 0 {
		return s.fail(errors.New("seal: nothing was written"))
	}
	if err := s.zstd.Close(); err != nil {
		return s.fail(fmt.Errorf("finish compression: %w", err))
	}
	if err := s.age.Close(); err != nil {
		return s.fail(fmt.Errorf("finish encryption: %w", err))
	}
	return nil
}

// Abort leaves the ciphertext as it is: cut, so that nobody can take it for a whole
// one, unless Close has answered nil before.
func (s *sealer) Abort() {
	_ = s.fail(errors.New("seal: aborted"))
}

// Sum is the SHA-256 and the size of the ciphertext, valid after Close.
func (s *sealer) Sum() (sha256 string, size int64) {
	return hex.EncodeToString(s.meter.sum.Sum(nil)), s.meter.size
}

// Plain is how many bytes were sealed.
func (s *sealer) Plain() int64 { return s.plain }

func (s *sealer) fail(err error) error {
	if err != nil && s.err == nil {
		s.err = err
	}
	return err
}

// meter measures what it hands on.
type meter struct {
	dst  io.Writer
	sum  hash.Hash
	size int64
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.dst.Write(p)
	m.sum.Write(p[:n]) // a hash never fails
	m.size += int64(n)
	return n, err
}
