package migrations

import "errors"

// ErrRefused says that a ledger may not be used: errors.Is finds it in every
// RefusedError.
var ErrRefused = errors.New("ledger refused")

// RefusedError says why a ledger may not be used, and what a person can do about it.
// Neither part holds a secret.
type RefusedError struct {
	Reason string
	Hint   string
	Err    error // the cause, nil where the reason says it all
}

// Error is the reason, with its cause.
func (e *RefusedError) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

// Unwrap is the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Is tells that target is ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
