package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// errClosed is why a child ends whose reader went away.
var errClosed = errors.New("its output was closed")

// Stream starts a command and answers its stdout. At the end of the output it waits
// for the child: a read answers io.EOF only if the child exited with 0, and else what
// went wrong (an *ExitError, or the context's cause), which is never io.EOF nor
// io.ErrUnexpectedEOF. Close before the end kills the child; after Close the child is
// reaped. Command.Stdout is not used.
func Stream(ctx context.Context, c Command) (io.ReadCloser, error) {
	s, err := stream(ctx, c)
	if err != nil {
		return nil, err
	}
	return s, nil
}

type output struct {
	*child
	ctx    context.Context
	closed atomic.Bool
	err    error // the answer of every read from now on
}

func stream(ctx context.Context, c Command) (*output, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start %s: %w", c.name(), context.Cause(ctx))
	}
	k, err := start(ctx, c)
	if err != nil {
		return nil, err
	}
	return &output{child: k, ctx: ctx}, nil
}

// Read answers what the child writes, and at the end how the child ended.
func (o *output) Read(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	for patient := false; ; {
		if o.exited() {
			// Only silence counts as the end of patience, not a slow reader.
			patient = true
			_ = o.stdout.SetReadDeadline(time.Now().Add(drain))
		}
		n, err := o.stdout.Read(p)
		switch {
		case n > 0 || err == nil:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded) && !patient:
			continue
		}
		o.err = o.finish(err)
		return 0, o.err
	}
}

func (o *output) exited() bool {
	select {
	case <-o.gone:
		return true
	default:
		return false
	}
}

// finish turns the end of the output, whatever it was, into the stream's answer.
func (o *output) finish(read error) error {
	err := o.result()
	if err != nil && o.ctx.Err() != nil && !errors.Is(err, context.Cause(o.ctx)) {
		err = fmt.Errorf("stop %s: %w; %v", o.name, context.Cause(o.ctx), err)
	}
	switch {
	case err != nil:
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New(err.Error()) // from its input; a reader must not take it for an end
		}
		return err
	case o.closed.Load():
		return fmt.Errorf("read %s: %w", o.name, errClosed)
	case read == io.EOF:
		return io.EOF
	case errors.Is(read, os.ErrDeadlineExceeded):
		return fmt.Errorf("read %s: it ended, but a process it left behind holds its output open", o.name)
	}
	return fmt.Errorf("read %s: %w", o.name, read)
}

// Close ends the child if it is still running, and returns when it is reaped.
func (o *output) Close() error {
	if o.closed.Swap(true) {
		return nil
	}
	o.end(errClosed)
	_ = o.stdout.Close() // a pipe's reading end has nothing to lose
	<-o.done
	return nil
}
