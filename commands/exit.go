package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// The exit statuses that are not outcomes of the loop; those stand in internal/loop.
const (
	statusUsage     = 2
	statusUnhealthy = 3
	statusSignal    = 128 // and the signal's number
)

const statusHelp = `Exit statuses: 0 done or nothing to do, 1 failed, 2 usage or configuration,
3 unhealthy (status --check), 4 lease lost, 5 verification failed, 6 ledger or store
refused, 7 ledger, store or database unreachable, 130 and 143 interrupted.`

// usageError is a mistake of the caller's.
type usageError struct {
	problem string
	advice  string
}

func (e *usageError) Error() string { return e.problem }

// Hint is what to type instead.
func (e *usageError) Hint() string { return e.advice }

func misuse(advice, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), advice}
}

// told is a bad end whose reasons have been printed; only the status is left to say.
type told int

func (t told) Error() string { return fmt.Sprintf("ended with status %d", int(t)) }

// exitStatus is the one map from errors to statuses. An interrupted process says so,
// whatever its last statement made of it.
func exitStatus(ctx context.Context, err error) int {
	var cause interrupted
	if errors.As(context.Cause(ctx), &cause) {
		return statusSignal + int(cause.signal)
	}
	var status told
	switch {
	case errors.As(err, &status):
		return int(status)
	case isUsage(err):
		return statusUsage
	case lease.ClassOf(err) == lease.Refuted:
		return loop.StatusRefuted
	}
	return loop.ErrorStatus(err)
}

// hintOf is what err advises, "" where it does not.
func hintOf(err error) string {
	var advised interface{ Hint() string }
	var refused *ledger.RefusedError
	var unreachable *ledger.UnreachableError
	switch {
	case errors.As(err, &advised):
		return advised.Hint()
	case errors.As(err, &refused):
		return refused.Hint
	case errors.As(err, &unreachable):
		return unreachable.Hint
	}
	return ""
}
