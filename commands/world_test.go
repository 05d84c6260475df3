package commands

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

// patience bounds what a script waits for on a busy machine.
const patience = 2 * time.Minute

// world is what one script lives in.
type world struct {
	t        *testing.T
	folder   string
	services map[string]string         // conninfo of each service
	servers  map[string]*pgtest.Server // private ones, by service
	held     map[string]*pgx.Conn
}

// make sets up what a host has: world [private]. The ledger is migrated, the protected
// database app has a table of three rows, the store is empty. With private the
// protected database has a server of its own, where nothing moves but what the script
// moves.
func (w *world) make(ts *testscript.TestScript, args []string) {
	w.services["ledger"] = pgtest.Ledger(w.t)
	if slices.Contains(args, "private") {
		w.servers["app"] = pgtest.NewServer(w.t)
		w.services["app"] = w.servers["app"].Database(w.t)
	} else {
		w.services["app"] = pgtest.Database(w.t)
	}
	w.writeServices(ts)
	pgtest.Exec(w.t, w.services["app"], "CREATE TABLE note (id integer PRIMARY KEY, words text NOT NULL); INSERT INTO note SELECT n, 'note ' || n FROM generate_series(1, 3) AS n")

	identity, err := age.GenerateX25519Identity()
	ts.Check(err)
	recipient := identity.Recipient().String()
	w.write(ts, "key.txt", identity.String()+"\n")
	ts.Check(os.Mkdir(filepath.Join(w.folder, "store"), 0o700))
	w.write(ts, "config.yaml", `environment: test
ledger: {service: ledger}
stores:
  local: {type: dir, path: store}
backups:
  app:
    service: app
    store: local
    recipients: [`+recipient+`]
    min_interval: 0s
`)
	ts.Setenv("HEYAIRA_CONFIG", filepath.Join(w.folder, "config.yaml"))
	ts.Setenv("LEDGER", w.services["ledger"])
}

func (w *world) write(ts *testscript.TestScript, name, text string) {
	ts.Check(os.WriteFile(filepath.Join(w.folder, name), []byte(text), 0o600))
}

func (w *world) writeServices(ts *testscript.TestScript) {
	text, err := os.ReadFile(pgtest.ServiceFile(w.t, w.services))
	ts.Check(err)
	w.write(ts, "pg_service.conf", string(text))
}

// database makes an empty database and names it as a service: database SERVICE.
func (w *world) database(ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: database service")
	}
	w.services[args[0]] = pgtest.Database(w.t)
	w.writeServices(ts)
}

// server stops or starts the private server of a service: server SERVICE stop|start.
func (w *world) server(ts *testscript.TestScript, args []string) {
	if len(args) != 2 || w.servers[args[0]] == nil {
		ts.Fatalf("usage: server service stop|start")
	}
	if args[1] == "stop" {
		w.servers[args[0]].Stop("fast")
		return
	}
	w.servers[args[0]].Start()
}

// connect is a connection of the script to a service.
func (w *world) connect(ts *testscript.TestScript, service string) *pgx.Conn {
	if w.services[service] == "" {
		ts.Fatalf("unknown service %s, there is %v", service, slices.Sorted(maps.Keys(w.services)))
	}
	return pgtest.Connect(w.t, w.services[service])
}

// sql prints what statements answer, a row a line: sql SERVICE STATEMENTS.
func (w *world) sql(ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sql service statements")
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	conn := w.connect(ts, args[0])
	results, err := conn.PgConn().Exec(ctx, args[1]).ReadAll()
	ts.Check(err)
	for _, result := range results {
		printResult(ts, result)
	}
	ts.Check(conn.Close(ctx))
}

func printResult(ts *testscript.TestScript, result *pgconn.Result) {
	for _, row := range result.Rows {
		fmt.Fprintf(ts.Stdout(), "%s\n", bytes.Join(row, []byte("|")))
	}
}

// hold begins a transaction that keeps its locks until release: hold NAME SERVICE STATEMENT.
func (w *world) hold(ts *testscript.TestScript, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: hold name service statement")
	}
	conn := w.connect(ts, args[1])
	_, err := conn.PgConn().Exec(w.t.Context(), "BEGIN; "+args[2]).ReadAll()
	ts.Check(err)
	if w.held == nil {
		w.held = make(map[string]*pgx.Conn)
	}
	w.held[args[0]] = conn
}

// release ends what hold began: release NAME.
func (w *world) release(ts *testscript.TestScript, args []string) {
	if len(args) != 1 || w.held[args[0]] == nil {
		ts.Fatalf("usage: release name")
	}
	ts.Check(w.held[args[0]].Close(w.t.Context()))
}

// awaitLock returns when a session of the service's database waits for a lock:
// awaitlock SERVICE. Nobody tells of that, so it is asked.
func (w *world) awaitLock(ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: awaitlock service")
	}
	conn := w.connect(ts, args[0])
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var waiting bool
		ts.Check(conn.QueryRow(w.t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waiting))
		if waiting {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nobody waits for a lock in %s", args[0])
		}
	}
}

// kill9 ends the process whose number stands in a file: kill9 FILE.
func kill9(ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: kill9 file")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
}

// secretFree looks through every file of the script's folder, but those named after
// it: secretfree SECRET [FILE…].
func (w *world) secretFree(ts *testscript.TestScript, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: secretfree secret [file...]")
	}
	ts.Check(filepath.WalkDir(w.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(w.folder, path)
		if err != nil || slices.Contains(args[1:], name) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(args[0])) {
			return fmt.Errorf("%s holds the secret", name)
		}
		return nil
	}))
}
