package loop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// watchdog ends the context of work that takes too long or stands still. Both count
// as transient.
type watchdog struct {
	cancel context.CancelCauseFunc
	stall  time.Duration

	mu    sync.Mutex
	end   *time.Timer // of the whole work; nil: no limit
	still *time.Timer // since anything moved; nil: no limit
	stage string
	bytes int64
}

// watch answers a context that ends after timeout, or when nothing was reported for
// stall; 0 is no limit. stop must be called.
func watch(ctx context.Context, timeout, stall time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{cancel: cancel, stall: stall}
	if timeout > 0 {
		w.end = time.AfterFunc(timeout, func() {
			cancel(lease.WithClass(lease.Transient, fmt.Errorf("not done within its timeout of %s", timeout)))
		})
	}
	if stall > 0 {
		w.still = time.AfterFunc(stall, func() {
			cancel(lease.WithClass(lease.Transient, fmt.Errorf("stalled: nothing moved for %s", stall)))
		})
	}
	return ctx, w
}

// report notes progress. The same numbers again are none.
func (w *watchdog) report(stage string, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stage == w.stage && bytes == w.bytes {
		return
	}
	w.stage, w.bytes = stage, bytes
	// A timer that has fired is not wound up again: the context has ended.
	if w.still != nil && w.still.Stop() {
		w.still.Reset(w.stall)
	}
}

// stop lets the context go without a limit being the cause.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, timer := range []*time.Timer{w.end, w.still} {
		if timer != nil {
			timer.Stop()
		}
	}
	w.cancel(nil)
}
