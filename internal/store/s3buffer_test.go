package store

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestBufferHoldsOnePart(t *testing.T) {
	t.Parallel()
	b, err := newPartBuffer(5000)
	if err != nil {
		t.Fatal(err)
	}
	defer b.free()
	body := noise(6000)
	if n := b.fill(body[:4000]); n != 4000 || b.full() {
		t.Errorf("took %d, full %v", n, b.full())
	}
	if n := b.fill(body[4000:]); n != 1000 || !b.full() {
		t.Errorf("took %d, full %v", n, b.full())
	}
	if n := b.fill(body); n != 0 || !bytes.Equal(b.bytes(), body[:5000]) {
		t.Errorf("took %d more, or holds other bytes", n)
	}
}

// TestRetiredBodyReadsNothing: what is in the buffer by then belongs to another part.
func TestRetiredBodyReadsNothing(t *testing.T) {
	t.Parallel()
	part := []byte("a part")
	b := newPartBody(part)
	p := make([]byte, 2)
	if n, err := b.Read(p); n != 2 || err != nil || string(p) != "a " {
		t.Errorf("got %d, %v, %q", n, err, p)
	}
	b.retire()
	if n, err := b.Read(p); n != 0 || !errors.Is(err, errRetired) || string(p) != "a " {
		t.Errorf("got %d, %v, %q, want nothing", n, err, p)
	}
	whole := newPartBody(part)
	if got, err := io.ReadAll(whole); err != nil || !bytes.Equal(got, part) {
		t.Errorf("got %q, %v", got, err)
	}
}
