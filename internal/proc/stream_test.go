package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// script is a child that does what a line of sh says. Only tests use a shell.
func script(line string, args ...string) Command {
	return Command{Name: "child", Path: "/bin/sh", Args: append([]string{"-c", line, "child"}, args...)}
}

// open starts a stream and closes it when the test ends.
func open(t *testing.T, ctx context.Context, c Command) *output {
	t.Helper()
	out, err := stream(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return out
}

// readPid reads the line with which a child tells a process id.
func readPid(t *testing.T, r io.Reader) int {
	t.Helper()
	var line []byte
	for one := make([]byte, 1); ; {
		if _, err := r.Read(one); err != nil {
			t.Fatal(err)
		}
		if one[0] == '\n' {
			break
		}
		line = append(line, one[0])
	}
	pid, err := strconv.Atoi(string(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// dead tells whether no process has the pid, not even a zombie of ours.
func dead(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// notAnEnd fails where a reader could take err for the end of the output.
func notAnEnd(t *testing.T, err error) {
	t.Helper()
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v, want an error that is no end", err)
	}
}

func TestWholeOutputEndsWithEOF(t *testing.T) {
	t.Parallel()
	// More than a pipe holds, so that the child ends long before the reader.
	out := open(t, t.Context(), script("head -c 300000 /dev/zero"))
	got, err := io.ReadAll(out)
	if err != nil || len(got) != 300000 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if err := out.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestFailedChildIsAReadError(t *testing.T) {
	t.Parallel()
	out := open(t, t.Context(), script("echo partial; echo could not go on >&2; exit 3"))
	got, err := io.ReadAll(out)
	notAnEnd(t, err)
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != 3 || exit.Signal != "" || exit.Tail != "could not go on" {
		t.Errorf("got %#v", err)
	}
	if string(got) != "partial\n" {
		t.Errorf("got output %q", got)
	}
	if _, again := out.Read(make([]byte, 1)); again != err {
		t.Errorf("the next read said %v", again)
	}
}

func TestKilledChildIsAReadError(t *testing.T) {
	t.Parallel()
	out := open(t, t.Context(), script("echo partial; kill -9 $$"))
	_, err := io.ReadAll(out)
	notAnEnd(t, err)
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Signal != "SIGKILL" || exit.Status != -1 {
		t.Errorf("got %#v", err)
	}
}

func TestDeadlineKillsAGroupThatIgnoresTERM(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	command := script(`trap "" TERM; (trap "" TERM; sleep 600) & echo $!; echo $$; wait`)
	command.Grace = 100 * time.Millisecond
	out := open(t, ctx, command)
	grandchild, child := readPid(t, out), readPid(t, out)
	began := time.Now()
	cancel(lease.ErrLost)
	_, err := io.ReadAll(out)
	notAnEnd(t, err)
	if !errors.Is(err, lease.ErrLost) || !strings.HasPrefix(err.Error(), "stop child: lease lost") {
		t.Errorf("got %v, want the cause first", err)
	}
	if took := time.Since(began); took < command.Grace || took > time.Minute {
		t.Errorf("took %s", took)
	}
	if !dead(child) {
		t.Error("the child is not reaped")
	}
	awaitDeath(t, grandchild)
}

func TestSuccessAfterTERMIsStillTheCause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	out := open(t, ctx, script(`trap "exit 0" TERM; echo $$; while :; do sleep 0.05; done`))
	readPid(t, out)
	cancel(lease.ErrLost)
	_, err := io.ReadAll(out)
	notAnEnd(t, err)
	if !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestNothingOfTheGroupSurvivesItsChild(t *testing.T) {
	t.Parallel()
	out := open(t, t.Context(), script(`sleep 600 & echo $!; exit 0`))
	left := readPid(t, out)
	if _, err := io.ReadAll(out); err != nil {
		t.Errorf("got %v", err)
	}
	awaitDeath(t, left)
}

func TestDescendantOutsideTheGroupDelaysNothing(t *testing.T) {
	t.Parallel()
	command := script(`setsid sh -c 'echo $$; exec sleep 600' & read go; exit 0`)
	stdin, leave := io.Pipe()
	command.Stdin = stdin
	out := open(t, t.Context(), command)
	escaped := readPid(t, out)
	_ = leave.Close()
	defer func() { _ = syscall.Kill(escaped, syscall.SIGKILL) }()
	began := time.Now()
	_, err := io.ReadAll(out)
	notAnEnd(t, err) // whether the output is whole cannot be known
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

func TestEarlyCloseKillsAndReaps(t *testing.T) {
	t.Parallel()
	out := open(t, t.Context(), script("echo $$; exec cat /dev/zero"))
	pid := readPid(t, out)
	if err := out.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if !dead(pid) {
		t.Error("the child is alive or a zombie after Close")
	}
	_, err := out.Read(make([]byte, 1))
	notAnEnd(t, err)
}

func TestCloseEndsABlockedRead(t *testing.T) {
	t.Parallel()
	out := open(t, t.Context(), script("echo $$; exec sleep 600"))
	readPid(t, out)
	answer := make(chan error)
	go func() {
		_, err := out.Read(make([]byte, 1))
		answer <- err
	}()
	_ = out.Close()
	notAnEnd(t, <-answer)
}

func TestSlowReaderGetsEverything(t *testing.T) {
	t.Parallel()
	out := open(t, t.Context(), script("head -c 60000 /dev/zero"))
	<-out.done
	// As if the reader had been busy for longer than it may be silent.
	_ = out.stdout.SetReadDeadline(time.Now().Add(-time.Hour))
	got, err := io.ReadAll(out)
	if err != nil || len(got) != 60000 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(lease.ErrLost)
	if _, err := Stream(ctx, script("exit 0")); !errors.Is(err, lease.ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestMissingProgramIsBlocked(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/nowhere/pg_dump", "no-such-program-here", "/etc/passwd"} {
		_, err := Stream(t.Context(), Command{Path: path})
		if err == nil || lease.ClassOf(err) != lease.Blocked {
			t.Errorf("%s: got %v, class %s", path, err, lease.ClassOf(err))
		}
	}
}

func TestBrokenInputKillsTheChildBeforeItSeesTheEnd(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"other": os.ErrPermission, "unexpected EOF": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := script("cat; echo committed")
			command.Stdin = io.MultiReader(strings.NewReader("half"), iotest.ErrReader(cause))
			out := open(t, t.Context(), command)
			got, err := io.ReadAll(out)
			notAnEnd(t, err)
			if bytes.Contains(got, []byte("committed")) {
				t.Error("the child took the break for the end")
			}
			if !strings.Contains(err.Error(), cause.Error()) {
				t.Errorf("got %v, want the cause in it", err)
			}
		})
	}
}
