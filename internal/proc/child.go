package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heyaira/heyaira-loop/lease"
)

// drain bounds the wait for pipes that a descendant outside the group holds open.
const drain = 2 * time.Second

// child is one started process and its group.
type child struct {
	name   string
	grace  time.Duration
	cmd    *exec.Cmd
	stdout *os.File // the end we read
	tail   *tail

	mu   sync.Mutex    // held while signalling, so that no signal meets a reused pid
	why  error         // why we ended it; nil while we have not
	gone chan struct{} // closed when it has exited; it is not reaped before that
	done chan struct{} // closed when it is reaped and its stderr is read
	err  error         // what Wait said; valid after done
}

// start runs the command until ctx ends. It returns when the program has been executed.
func start(ctx context.Context, c Command) (*child, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name(), err)
	}
	defer theirs.Close()
	widen(ours)
	k := &child{
		name: c.name(), grace: c.grace(), stdout: ours, tail: newTail(c.Env),
		gone: make(chan struct{}), done: make(chan struct{}),
	}
	k.cmd = exec.Command(c.Path, c.Args...)
	k.cmd.Env = Environ(c.Env...)
	k.cmd.Dir = c.Dir
	k.cmd.Stdout = theirs
	k.cmd.Stderr = k.tail
	k.cmd.WaitDelay = drain
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if c.Stdin != nil {
		k.cmd.Stdin = &input{from: c.Stdin, child: k}
	}
	started := make(chan error, 1)
	go k.attend(ctx, started)
	if err := <-started; err != nil {
		_ = ours.Close()
		err = fmt.Errorf("start %s: %w", k.name, err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = lease.WithClass(lease.Blocked, err)
		}
		return nil, err
	}
	return k, nil
}

// pipeSize is how far a child may run ahead of its reader, in bytes: what Linux
// allows without privileges.
const pipeSize = 1 << 20

// widen makes room in a pipe. A child that writes in small pieces, like pg_dump,
// then waits and is woken less often. Where it is not granted all is well, but slower.
func widen(pipe *os.File) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}

// attend starts the child and stays until it is reaped. It holds one thread all the
// while: the kernel sends the parent-death signal when the thread that forked ends.
func (k *child) attend(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(k.done)
	err := k.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { k.end(context.Cause(ctx)) })()
	// Until it is reaped its pid, and so its group's number, belongs to nobody else.
	awaitExit(k.cmd.Process.Pid)
	k.mu.Lock()
	close(k.gone)
	k.signal(syscall.SIGKILL)
	k.mu.Unlock()
	// A reader that is blocked now waits for a descendant that left the group.
	_ = k.stdout.SetReadDeadline(time.Now().Add(drain))
	k.err = k.cmd.Wait()
}

func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// end asks the group to end, for a reason, and forces it after the grace.
func (k *child) end(why error) {
	if k.stop(why, syscall.SIGTERM) {
		time.AfterFunc(k.grace, func() { k.stop(why, syscall.SIGKILL) })
	}
}

// stop signals the group unless the child has exited. The first reason is kept.
func (k *child) stop(why error, sig syscall.Signal) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.gone:
		return false
	default:
	}
	if k.why == nil {
		k.why = why
	}
	k.signal(sig)
	return true
}

func (k *child) signal(sig syscall.Signal) {
	_ = syscall.Kill(-k.cmd.Process.Pid, sig) // nobody left is what we want
}

// result waits until the child is reaped and says how it ended: nil for success.
func (k *child) result() error {
	<-k.done
	k.mu.Lock()
	why := k.why
	k.mu.Unlock()
	failed := exitError(k.name, k.cmd.ProcessState, k.tail)
	switch {
	case why != nil && failed != nil:
		return fmt.Errorf("stop %s: %w; %v", k.name, why, failed)
	case why != nil:
		return fmt.Errorf("stop %s: %w", k.name, why)
	case failed != nil:
		return failed
	case k.err != nil && !errors.Is(k.err, exec.ErrWaitDelay):
		return fmt.Errorf("run %s: %w", k.name, k.err)
	}
	// ErrWaitDelay after success: a descendant that left the group holds stderr, or
	// nobody wants the rest of stdin. Neither says anything against the child.
	return nil
}
