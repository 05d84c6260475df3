package commands

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// interrupted is the cause of a context that a signal ended. It is context.Canceled
// to those who ask whether the process was told to stop.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted by " + unix.SignalName(i.signal) }

func (i interrupted) Is(target error) bool { return target == context.Canceled }

// signals answers a context that SIGINT or SIGTERM ends; the second signal ends the
// process at once. SIGPIPE is taken and dropped, so that a reader that went away is
// an error of the write; ignoring it would be inherited by children.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case told := <-stops:
			signal.Stop(stops)
			number, _ := told.(syscall.Signal) // on Unix it always is
			cancel(interrupted{number})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(stops)
		signal.Stop(pipes)
		cancel(nil)
	}
}
