package proc

import (
	"fmt"
	"io"
	"syscall"
)

// input is a child's stdin. A source that breaks off must not look like its end: the
// child might take what it has for everything, and commit it. So the child is killed
// first, and the pipe is closed after that.
type input struct {
	from  io.Reader
	child *child
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.from.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	err = fmt.Errorf("read its input: %w", err)
	in.child.stop(err, syscall.SIGKILL)
	<-in.child.gone
	return 0, err
}
