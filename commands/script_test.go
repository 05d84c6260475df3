package commands

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

// scriptFolder holds what every subcommand is specified by.
const scriptFolder = "../testdata/script"

// suite stops the servers before the process ends.
type suite struct{ m *testing.M }

func (s suite) Run() int { return pgtest.Main(s.m) }

// TestMain lets the test's own binary stand for heyaira-loop in scripts, so that
// pipes, signals and statuses are those of real processes.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){
		"heyaira-loop": func() { os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(scriptFolder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find scripts: %v, %d found", err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, services: make(map[string]string), servers: make(map[string]*pgtest.Server)}
			testscript.Run(t, testscript.Params{
				Files:               []string{file},
				Setup:               w.setup,
				Cmds:                w.commands(),
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				UpdateScripts:       os.Getenv("HEYAIRA_TEST_UPDATE") == "1",
			})
		})
	}
}

// setup gives each script a private folder, and nothing of the caller's environment
// that a program of PostgreSQL or of ours would read.
func (w *world) setup(env *testscript.Env) error {
	w.folder = env.WorkDir
	home := filepath.Join(env.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("HEYAIRA_HOST", "host1")
	env.Setenv("PGSERVICEFILE", filepath.Join(env.WorkDir, "pg_service.conf"))
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("TZ", "UTC")
	env.Setenv("RUNEWIDTH_EASTASIAN", "0")
	// Scripts are unpacked under the caller's umask.
	return os.Chmod(env.WorkDir, 0o700)
}

func (w *world) commands() map[string]func(*testscript.TestScript, bool, []string) {
	commands := make(map[string]func(*testscript.TestScript, bool, []string))
	for name, command := range map[string]func(*testscript.TestScript, []string){
		"world":      w.make,
		"database":   w.database,
		"server":     w.server,
		"sql":        w.sql,
		"hold":       w.hold,
		"release":    w.release,
		"awaitlock":  w.awaitLock,
		"kill9":      kill9,
		"exits":      exits,
		"secretfree": w.secretFree,
	} {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("unsupported: ! %s", name)
			}
			command(ts, args)
		}
	}
	return commands
}

// exits runs a program that has to end with exactly this status: exits STATUS PROGRAM ARG…
func exits(ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits status program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("%s ended with status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
