package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ExitError says that a child ended badly by itself.
type ExitError struct {
	Name   string // Command.Name
	Status int    // exit status; -1 where a signal ended it
	Signal string // the signal's name, like SIGKILL; empty where it exited
	Tail   string // its last lines on stderr, at most 4 KiB, scrubbed
}

// Error is one line, but for the tail's.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s ended with status %d", e.Name, e.Status)
	if e.Signal != "" {
		text = fmt.Sprintf("%s was killed by %s", e.Name, e.Signal)
	}
	if e.Tail != "" {
		text += ": " + e.Tail
	}
	return text
}

// exitError is nil for a child that exited with 0.
func exitError(name string, state *os.ProcessState, tail *tail) error {
	if state == nil || state.Success() {
		return nil
	}
	e := &ExitError{Name: name, Status: state.ExitCode(), Tail: tail.text()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = unix.SignalName(status.Signal())
	}
	return e
}
