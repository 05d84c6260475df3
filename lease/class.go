package lease

import (
	"context"
	"errors"
)

// ErrLost says that the lease is no longer held: another may hold it, or it
// expired. It is the cause of a context that was cancelled for that reason.
var ErrLost = errors.New("lease lost")

// Class says what a failure means for the work that failed.
type Class string

// The classes of failure. Transient: tried again later, counted. Blocked: the
// surroundings are wrong, tried again after a flat while, nothing counted.
// Permanent: the input is wrong, never tried again. Refuted: a proof failed.
// LostClass: not ours any more, nothing is recorded.
const (
	Transient Class = "transient"
	Blocked   Class = "blocked"
	Permanent Class = "permanent"
	Refuted   Class = "refuted"
	LostClass Class = "lost"
)

type classed struct {
	error
	class Class
}

func (c *classed) Unwrap() error { return c.error }

// WithClass marks err with a class; nil stays nil. The outermost mark counts.
func WithClass(class Class, err error) error {
	if err == nil {
		return nil
	}
	return &classed{err, class}
}

// ClassOf tells the class of err. Without a mark it is Transient, or LostClass
// where ErrLost is in the chain; a lost lease outranks every mark.
func ClassOf(err error) Class {
	if errors.Is(err, ErrLost) {
		return LostClass
	}
	var c *classed
	if errors.As(err, &c) {
		return c.class
	}
	return Transient
}

// Interrupted tells whether ctx ended because the process was told to stop, and
// not because of a lost lease or a time limit.
func Interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled)
}
