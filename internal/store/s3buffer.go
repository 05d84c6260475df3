package store

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// partBuffer holds one part. It lies outside Go's heap: the collector lets a heap grow
// to twice of what is in use, and for the parts alone that would be three parts more.
// Pages that were never written take no memory, so a small object costs little.
type partBuffer struct {
	memory []byte
	filled int
}

func newPartBuffer(size int64) (*partBuffer, error) {
	memory, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("make a buffer of %d bytes: %w", size, err)
	}
	return &partBuffer{memory: memory}, nil
}

// fill takes what has room.
func (b *partBuffer) fill(p []byte) int {
	n := copy(b.memory[b.filled:], p)
	b.filled += n
	return n
}

func (b *partBuffer) full() bool { return b.filled == len(b.memory) }

func (b *partBuffer) bytes() []byte { return b.memory[:b.filled] }

// free gives the memory back. Nothing may read from the buffer afterwards.
func (b *partBuffer) free() { _ = unix.Munmap(b.memory) }

var errRetired = errors.New("the request is over")

// partBody is the body of one request. A transport may go on reading from a body
// after the request has ended; retire makes sure that it does not read what the
// buffer holds by then.
type partBody struct {
	mu   sync.Mutex
	rest []byte
	over bool
}

func newPartBody(bytes []byte) *partBody { return &partBody{rest: bytes} }

// Read hands out the part.
func (b *partBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.over:
		return 0, errRetired
	case len(b.rest) == 0:
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// retire ends the body. The bytes behind it are not touched after it returns.
func (b *partBody) retire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest, b.over = nil, true
}
