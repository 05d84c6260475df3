package loop

import (
	"github.com/heyaira/heyaira-loop/lease"
)

// StepOptions say how run and verify work.
type StepOptions struct {
	Host     string // the first part of the owner
	Parallel int    // items of one work type at a time; 0: 1
	// Ended is told how each item ended, as it happens; nil: nobody is. It is not
	// called twice at once.
	Ended func(End)
	// Progress is told how far an item's work has come, by its consumer, often; nil:
	// nobody is. It may be called several times at once.
	Progress func(item lease.Item, stage string, bytes int64)
}

// End is how an item ended in a step.
type End struct {
	lease.Item // as the row had it; of one that was never started, what its document said
	lease.Ended
	// Err is why; nil where it went well. It holds no secret.
	Err error
}

// Summary is what a step did.
type Summary struct {
	Items  int // documents that were taken in
	Status int // the worst of the step's outcomes and faults, and of what came down the pipe
}
