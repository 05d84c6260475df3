package loop

import (
	"errors"
	"io"
)

// arrival is what came from an input: a document, a fault, or the status that stood
// at the end.
type arrival struct {
	document received
	err      error
	status   int
}

// read reads inputs one after the other, ahead of the work: the step before must not
// wait for a dump before it can end. stop lets a reader go that nobody listens to any
// more; a read that is under way cannot be stopped and is left behind.
func read(inputs []Input) (arrivals <-chan arrival, stop func()) {
	ahead := make(chan arrival, 1000)
	quit := make(chan struct{})
	go func() {
		defer close(ahead)
		for _, input := range inputs {
			documents := newStream(input)
			for {
				document, err := documents.next()
				a := arrival{document: document, err: err}
				ended := errors.Is(err, io.EOF)
				if ended {
					a = arrival{status: documents.status}
				}
				select {
				case ahead <- a:
				case <-quit:
					return
				}
				if ended {
					break
				}
			}
		}
	}()
	return ahead, func() { close(quit) }
}
