package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// modeVariable makes the test binary act as a child of these tests.
const modeVariable = "PROC_TEST_MODE"

func TestMain(m *testing.M) {
	switch os.Getenv(modeVariable) {
	case "":
		os.Exit(m.Run())
	case "show": // what a child can see of itself
		fmt.Printf("%q\n%q\n", os.Args[1:], os.Environ())
	case "parent": // starts a child that would outlive it
		out, err := Stream(context.Background(), script("echo $$; exec sleep 600"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		buffer := make([]byte, 32)
		n, _ := out.Read(buffer)
		fmt.Print(string(buffer[:n]))
		time.Sleep(time.Hour)
	}
}

// awaitDeath waits until a process that is not our child has ended.
func awaitDeath(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
	}
	if err != nil || n != 1 {
		t.Errorf("process %d is still there: %d, %v", pid, n, err)
	}
}

func TestChildDiesWithAKilledParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), modeVariable+"=parent")
	parent.Stderr = os.Stderr
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPid(t, stdout)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	awaitDeath(t, pid)
}

func TestChildSeesArgumentsUntouchedAndNoCanary(t *testing.T) {
	const canary = "canary-5f1d"
	t.Setenv("HEYAIRA_CANARY", canary)
	t.Setenv("PGPASSWORD", canary)
	t.Setenv("LC_CANARY", "kept")
	t.Setenv("SSL_CERT_FILE", "/kept.pem")
	args := []string{"$(id)", "; echo x", "`id`", "a b", "*", ""}
	var out bytes.Buffer
	if err := Run(t.Context(), Command{
		Path: os.Args[0], Args: args, Stdout: &out,
		Env: []string{modeVariable + "=show", "GIVEN=value", "HOME=/elsewhere"},
	}); err != nil {
		t.Fatal(err)
	}
	argv, env, _ := strings.Cut(out.String(), "\n")
	if want := fmt.Sprintf("%q", args); argv != want {
		t.Errorf("got arguments %s, want %s", argv, want)
	}
	if strings.Contains(out.String(), canary) {
		t.Errorf("the canary was inherited: %s", env)
	}
	for _, want := range []string{`"GIVEN=value"`, `"LC_CANARY=kept"`, `"SSL_CERT_FILE=/kept.pem"`, `"HOME=/elsewhere"`, `"PATH=`} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing in %s", want, env)
		}
	}
	if strings.Count(env, `"HOME=`) != 1 {
		t.Errorf("two homes in %s", env)
	}
}

func TestSecretGivenByEnvironmentStaysOutOfArgvAndErrors(t *testing.T) {
	t.Parallel()
	const canary = "canary 77ab"
	command := script(`tr '\0' ' ' < /proc/$$/cmdline; echo "refused: $REPORT_TOKEN" >&2; exit 1`)
	command.Env = []string{"REPORT_TOKEN=" + canary}
	var out bytes.Buffer
	command.Stdout = &out
	err := Run(t.Context(), command)
	if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "refused: ***") {
		t.Errorf("got %v", err)
	}
	if out.Len() == 0 || strings.Contains(out.String(), canary) {
		t.Errorf("got argv %q", out.String())
	}
}

func TestRunFeedsInputAndRunsInDir(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	command := script("pwd; cat")
	command.Dir, command.Stdin, command.Stdout = dir, strings.NewReader("hello"), &out
	if err := Run(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), dir+"\nhello"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// endless never ends and never fails.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestChildMayLeaveInputUnread(t *testing.T) {
	t.Parallel()
	command := script("exit 0")
	command.Stdin = endless{}
	if err := Run(t.Context(), command); err != nil {
		t.Errorf("got %v", err)
	}
}

// full takes some bytes and then no more.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestRunStopsWhereItsOutputCannotGo(t *testing.T) {
	t.Parallel()
	command := script("exec cat /dev/zero")
	command.Stdout = &full{left: 1 << 20}
	if err := Run(t.Context(), command); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

func TestRunReportsTheTimeLimit(t *testing.T) {
	t.Parallel()
	late := errors.New("no answer within 10s")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
	defer cancel()
	if err := Run(ctx, script("exec sleep 600")); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
}

func TestChildHasNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	command := script("cut -d' ' -f1,5,6,7 /proc/self/stat")
	command.Stdout = &out
	if err := Run(t.Context(), command); err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(out.String())
	if len(fields) != 4 || fields[1] != fields[2] || fields[3] != "0" {
		t.Errorf("got pid, group, session, terminal %v", slices.Concat(fields))
	}
}
