package store

import "fmt"

// advised is an error with advice for who runs the store.
type advised struct {
	what   string
	advice string
	cause  error
}

// Error is what was done to which key, and the cause.
func (e *advised) Error() string { return fmt.Sprintf("%s: %v", e.what, e.cause) }

// Unwrap answers the cause.
func (e *advised) Unwrap() error { return e.cause }

// Hint says what to do about it.
func (e *advised) Hint() string { return e.advice }
