package loop

import (
	"fmt"
	"io"
	"sync"

	"github.com/heyaira/heyaira-loop/lease"
)

// writer writes lease documents, whole lines at a time. After a failed write it
// writes no more: the reader is gone.
type writer struct {
	out io.Writer

	mu     sync.Mutex
	items  int
	handed []lease.Holder // that were written for a step to go on with
	err    error
}

// write sends one document. holder is whose lease goes with it; nil where none does.
func (w *writer) write(line []byte, holder *lease.Holder) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if _, err := w.out.Write(line); err != nil {
		w.err = fmt.Errorf("write document: %w", err)
		return w.err
	}
	w.items++
	if holder != nil {
		w.handed = append(w.handed, *holder)
	}
	return nil
}

// end closes the stream, unless its reader has gone before.
func (w *writer) end(step string, status int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.err = WriteEnd(w.out, step, w.items, status)
	return w.err
}

// left answers the leases that were handed to a reader that has gone, and none where
// it has not. What the reader did start bears its own name by now, so that all of them
// can be given back.
func (w *writer) left() []lease.Holder {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		return nil
	}
	return w.handed
}
