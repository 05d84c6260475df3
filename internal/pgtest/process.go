package pgtest

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// process is a running postmaster.
type process struct {
	pid   int
	ended chan struct{} // closed when it has been reaped
}

// launch starts cmd so that it dies with this process, unless keep is set.
//
// The kernel sends the parent-death signal when the thread that forked ends, not
// when the process does, so that thread is held until the child is gone.
func launch(cmd *exec.Cmd, keep bool) (*process, error) {
	if keep {
		cmd.SysProcAttr.Setsid = true
	} else {
		cmd.SysProcAttr.Setpgid = true
		cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // the postmaster's immediate shutdown
	}
	p := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended stands in its log
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) signal(sig os.Signal) {
	_ = syscall.Kill(p.pid, sig.(syscall.Signal)) // an ended one is what the caller waits for
}
