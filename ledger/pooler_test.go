package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/ledger"
	"github.com/heyaira/heyaira-loop/migrations"
)

// pooled answers a conninfo that leads to the same database through PgBouncer in
// transaction mode, which has two sessions for everybody.
func pooled(t *testing.T, conninfo string) string {
	t.Helper()
	program, err := exec.LookPath("/usr/sbin/pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("pgbouncer"); err != nil {
			t.Skip("pgbouncer is not installed")
		}
	}
	server := pgtest.Connect(t, conninfo).Config()
	socket, err := os.Stat(server.Host)
	if err != nil {
		t.Fatal(err)
	}
	owner := socket.Sys().(*syscall.Stat_t) // PgBouncer does not run as root either
	folder, err := os.MkdirTemp("/tmp", "pgb")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = host=%s port=%d user=postgres\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 6432\n"+
		"auth_type = any\npool_mode = transaction\ndefault_pool_size = 2\nlogfile = %s/log\n", server.Host, server.Port, folder, folder)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(folder, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--quiet", config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	begun, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread() // Pdeathsig is of the thread that started it
		defer close(ended)
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = os.RemoveAll(folder)
	})
	way := fmt.Sprintf("host=%s port=6432 user=postgres dbname=%s", folder, server.Database)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for { // it tells nobody that it is ready
		conn, err := pgx.Connect(ctx, way)
		if err == nil {
			_ = conn.Close(ctx)
			return way
		}
		select {
		case <-ended:
			log, _ := os.ReadFile(filepath.Join(folder, "log"))
			t.Fatalf("pgbouncer ended: %s", log)
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func through(t *testing.T, conninfo string) ledger.Options {
	t.Helper()
	return ledger.Options{Conninfo: conninfo, Environment: "test", Command: "test", Host: "h1", Program: "test", Log: zerolog.Nop()}
}

// A session of a pooler is everybody's: a lock that stayed behind in one would hang the
// next migrate.
func TestMigrateThroughAPoolerLeavesNoLock(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	way := pooled(t, conninfo)
	direct := pgtest.Connect(t, conninfo)
	apply := func() error {
		conn, err := ledger.Connect(t.Context(), through(t, way))
		if err != nil {
			return err
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		_, _, err = migrations.Apply(t.Context(), conn, "test")
		return err
	}
	locks := func() (count int) {
		t.Helper()
		err := direct.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE l.locktype = 'advisory' AND d.datname = current_database()`).Scan(&count)
		if err != nil {
			t.Fatal(err)
		}
		return count
	}
	if _, err := direct.Exec(t.Context(), "CREATE SCHEMA heyaira_loop; CREATE TABLE heyaira_loop.coverage ()"); err != nil {
		t.Fatal(err)
	}
	if err := apply(); err == nil {
		t.Error("migrated over a foreign table")
	}
	if got := locks(); got != 0 {
		t.Errorf("%d locks stay behind a failure", got)
	}
	if _, err := direct.Exec(t.Context(), "DROP SCHEMA heyaira_loop CASCADE"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := apply(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := locks(); got != 0 {
		t.Errorf("%d locks stay behind", got)
	}
}

// Nothing of the ledger leans on a session.
func TestLedgerHoldsThroughAPooler(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	way := pooled(t, l.conninfo)
	var programs [3]*ledger.DB // more than the pooler has sessions
	for i := range programs {
		programs[i] = ledger.Open(through(t, way))
		t.Cleanup(func() { _ = programs[i].Close(context.Background()) })
	}
	register(t, programs[0], "h1", "d", capped(1), ledger.Scope{WorkType: backups, Key: "app"})
	for n := range 5 {
		db := programs[n%3]
		if h := head(t, db, backups, "app"); !h.Known {
			t.Errorf("head: %+v", h)
		}
		cover(t, db, fmt.Sprint("m", n))
	}
	// The check of what is in force looks at the session that the pooler gives.
	l.sql(t, "UPDATE heyaira_loop.ledger_identity SET environment = 'production'")
	if _, err := programs[1].Heads(t.Context(), nil); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("another environment: %v", err)
	}
	sound(t, programs[2])
}
