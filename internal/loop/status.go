package loop

import (
	"errors"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// The statuses that a step ends with and that travel down a pipe.
const (
	StatusDone        = 0
	StatusFailed      = 1
	StatusLost        = 4
	StatusRefuted     = 5
	StatusRefused     = 6 // ledger or store
	StatusUnreachable = 7 // ledger, store or database
)

// Worst is the status that stands for several: the first of 6, 5, 1, 7, 4. One that
// is not known to this program means failure.
func Worst(statuses ...int) int {
	worst := StatusDone
	for _, status := range statuses {
		if weight(status) > weight(worst) {
			worst = status
		}
	}
	if weight(worst) == weight(StatusFailed) {
		return StatusFailed
	}
	return worst
}

func weight(status int) int {
	switch status {
	case StatusDone:
		return 0
	case StatusLost:
		return 1
	case StatusUnreachable:
		return 2
	case StatusRefuted:
		return 4
	case StatusRefused:
		return 5
	}
	return 3
}

// OutcomeStatus is the status that an outcome stands for.
func OutcomeStatus(outcome lease.Outcome) int {
	switch outcome {
	case lease.Ran, lease.Done, lease.Covered, lease.Superseded, lease.GivenBack:
		return StatusDone
	case lease.Lost:
		return StatusLost
	case lease.RefutedNow:
		return StatusRefuted
	}
	return StatusFailed
}

// ErrorStatus is the status that an error of a step stands for.
func ErrorStatus(err error) int {
	switch {
	case err == nil:
		return StatusDone
	case errors.Is(err, ledger.ErrRefused):
		return StatusRefused
	case errors.Is(err, ledger.ErrUnreachable):
		return StatusUnreachable
	case errors.Is(err, lease.ErrLost):
		return StatusLost
	}
	return StatusFailed
}
