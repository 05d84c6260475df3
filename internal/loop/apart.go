package loop

// answer is what an act came to.
type answer[T any] struct {
	value T
	err   error
}

// apart runs act in a goroutine of its own, so that it can be left behind: nobody has
// to take its answer.
func apart[T any](act func() (T, error)) <-chan answer[T] {
	answered := make(chan answer[T], 1)
	go func() {
		value, err := act()
		answered <- answer[T]{value, err}
	}()
	return answered
}
