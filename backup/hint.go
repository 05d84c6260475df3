package backup

// advised is an error that a person can mend.
type advised struct {
	error
	hint string
}

// Unwrap is the error without the advice.
func (a *advised) Unwrap() error { return a.error }

// Hint is what to do about it.
func (a *advised) Hint() string { return a.hint }

// advise adds what to do to err; nil stays nil.
func advise(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &advised{err, hint}
}
