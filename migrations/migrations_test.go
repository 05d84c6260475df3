package migrations_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/migrations"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// A released migration is never edited: a ledger that has it would differ from a new
// one. A new file gets a line here.
func TestMigrationsAreNotEdited(t *testing.T) {
	t.Parallel()
	pinned := map[string]string{
		"001_ledger.sql": "b9f44893f3f789982e7fe872599960dfd5953ebd7dcfaa854307341b013124e5",
	}
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range files {
		body, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(body)
		got[name] = hex.EncodeToString(sum[:])
	}
	if !maps.Equal(got, pinned) {
		t.Errorf("got %v\nwant %v", got, pinned)
	}
	if migrations.Head() != len(pinned) {
		t.Errorf("head is %d, want %d", migrations.Head(), len(pinned))
	}
}

func TestApplyBringsAnEmptyDatabaseToHead(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	conn := pgtest.Connect(t, conninfo)

	at, head, err := migrations.Pending(t.Context(), conn)
	if err != nil || at != 0 || head != migrations.Head() {
		t.Fatalf("pending before: %d of %d, %v", at, head, err)
	}
	from, to, err := migrations.Apply(t.Context(), conn, "staging")
	if err != nil || from != 0 || to != head {
		t.Fatalf("apply: %d to %d, %v", from, to, err)
	}
	at, _, err = migrations.Pending(t.Context(), conn)
	if err != nil || at != head {
		t.Errorf("pending after: %d, %v", at, err)
	}

	var environment string
	var epoch, program int
	row := conn.QueryRow(t.Context(), "SELECT environment, epoch, min_program FROM heyaira_loop.ledger_identity")
	if err := row.Scan(&environment, &epoch, &program); err != nil || environment != "staging" || epoch != 1 || program != 1 {
		t.Errorf("identity: %q, epoch %d, program %d, %v", environment, epoch, program, err)
	}
	// A new session has the settings, whoever opens it.
	for name, want := range map[string]string{
		"statement_timeout":                   "30s",
		"lock_timeout":                        "5s",
		"idle_in_transaction_session_timeout": "1min",
		"synchronous_commit":                  "on",
		"jit":                                 "off",
	} {
		var got string
		if err := pgtest.Connect(t, conninfo).QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", name, got, want, err)
		}
	}
}

// The settings are the database owner's to make; whoever else migrates learns what to ask for.
func TestRoleThatDoesNotOwnTheDatabaseMigrates(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	conn := pgtest.Connect(t, conninfo)
	role := "migrator_" + conn.Config().Database
	exec(t, conn, "CREATE ROLE "+role)
	t.Cleanup(func() { pgtest.Exec(t, conninfo, "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role) })
	exec(t, conn, "GRANT CREATE ON DATABASE "+conn.Config().Database+" TO "+role)
	other := pgtest.Connect(t, conninfo)
	exec(t, other, "SET SESSION AUTHORIZATION "+role)
	if _, to, err := migrations.Apply(t.Context(), other, "test"); err != nil || to != migrations.Head() {
		t.Fatalf("apply: to %d, %v", to, err)
	}
	lacking, err := migrations.Lacking(t.Context(), other)
	if err != nil || len(lacking) != 5 {
		t.Fatalf("lacking: %v, %v", lacking, err)
	}
	for _, statement := range lacking {
		exec(t, conn, statement)
	}
	if lacking, err = migrations.Lacking(t.Context(), other); err != nil || len(lacking) != 0 {
		t.Errorf("lacking afterwards: %v, %v", lacking, err)
	}
}

func TestApplyTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.Database(t))
	if _, _, err := migrations.Apply(t.Context(), conn, "test"); err != nil {
		t.Fatal(err)
	}
	before := identity(t, conn)
	from, to, err := migrations.Apply(t.Context(), conn, "test")
	if err != nil || from != to {
		t.Errorf("second apply: %d to %d, %v", from, to, err)
	}
	if after := identity(t, conn); after != before {
		t.Errorf("identity changed from %s to %s", before, after)
	}
	idle(t, conn)
}

func TestApplyAtOnceTakesTurns(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	const racers = 4
	var migrated, already int
	var lock sync.Mutex
	var group sync.WaitGroup
	for range racers {
		conn := pgtest.Connect(t, conninfo)
		group.Go(func() {
			from, to, err := migrations.Apply(t.Context(), conn, "test")
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err != nil:
				t.Errorf("apply: %v", err)
			case from == to:
				already++
			default:
				migrated++
			}
		})
	}
	group.Wait()
	if migrated != 1 || already != racers-1 {
		t.Errorf("%d migrated, %d found it done", migrated, already)
	}
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.Database(t))
	exec(t, conn, "CREATE SCHEMA heyaira_loop; CREATE TABLE heyaira_loop.coverage ()")
	if _, _, err := migrations.Apply(t.Context(), conn, "test"); err == nil || !strings.Contains(err.Error(), "001_ledger.sql") {
		t.Fatalf("apply over a foreign table: %v", err)
	}
	idle(t, conn)
	if at, _, err := migrations.Pending(t.Context(), conn); err != nil || at != 0 {
		t.Errorf("pending: %d, %v", at, err)
	}
	exec(t, conn, "DROP SCHEMA heyaira_loop CASCADE")
	if _, _, err := migrations.Apply(t.Context(), conn, "test"); err != nil {
		t.Errorf("apply on the same connection: %v", err)
	}
}

func TestInterruptedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	other := pgtest.Connect(t, conninfo)
	exec(t, other, "BEGIN; CREATE SCHEMA heyaira_loop")

	// Its CREATE SCHEMA waits for the other's until the context ends.
	ctx, cancel := context.WithCancel(t.Context())
	conn := pgtest.Connect(t, conninfo)
	done := make(chan error, 1)
	go func() {
		_, _, err := migrations.Apply(ctx, conn, "test")
		done <- err
	}()
	waitForLock(t, pgtest.Connect(t, conninfo))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("apply: %v", err)
	}
	exec(t, other, "ROLLBACK")
	if _, _, err := migrations.Apply(t.Context(), other, "test"); err != nil {
		t.Errorf("apply afterwards: %v", err)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(t *testing.T) *pgx.Conn
		reason  string
	}{
		"ErrNewer": {func(t *testing.T) *pgx.Conn {
			conn := migrated(t)
			exec(t, conn, "UPDATE heyaira_loop.schema_version SET version = 99")
			return conn
		}, "schema version 99"},
		"ErrEnvironment": {func(t *testing.T) *pgx.Conn {
			conn := migrated(t)
			exec(t, conn, "UPDATE heyaira_loop.ledger_identity SET environment = 'production'")
			return conn
		}, `environment "production", this host's is "test"`},
		"ErrMoved": {func(t *testing.T) *pgx.Conn {
			conn := migrated(t)
			exec(t, conn, "UPDATE heyaira_loop.ledger_identity SET database_oid = 1")
			return conn
		}, "restored, cloned or moved"},
		"ErrEncoding": {func(t *testing.T) *pgx.Conn {
			config := pgtest.Connect(t, pgtest.Database(t)).Config()
			name := config.Database + "_ascii"
			server := fmt.Sprintf("host=%s port=%d user=%s dbname=", config.Host, config.Port, config.User)
			pgtest.Exec(t, server+"postgres", "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
			t.Cleanup(func() { pgtest.Exec(t, server+"postgres", "DROP DATABASE "+name+" (FORCE)") })
			return pgtest.Connect(t, server+name)
		}, "encoding SQL_ASCII"},
		"ErrReadOnly": {func(t *testing.T) *pgx.Conn {
			return pgtest.Connect(t, pgtest.Database(t)+" default_transaction_read_only=on")
		}, "read-only"},
		"ErrRole": {func(t *testing.T) *pgx.Conn {
			conn := pgtest.Connect(t, pgtest.Database(t))
			exec(t, conn, "SET ROLE pg_monitor")
			return conn
		}, "may not make a schema"},
		"ErrOwner": {func(t *testing.T) *pgx.Conn {
			conn := migrated(t)
			exec(t, conn, "SET ROLE pg_monitor")
			return conn
		}, "may not migrate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := test.prepare(t)
			_, _, err := migrations.Apply(t.Context(), conn, "test")
			var refused *migrations.RefusedError
			if !errors.As(err, &refused) || !errors.Is(err, migrations.ErrRefused) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(refused.Error(), test.reason) || refused.Hint == "" {
				t.Errorf("got %q, hint %q", refused.Error(), refused.Hint)
			}
			idle(t, conn)
		})
	}
}

func TestIdentifyRefusesALedgerWithHistory(t *testing.T) {
	t.Parallel()
	conn := migrated(t)
	before := identity(t, conn)
	if err := migrations.Identify(t.Context(), conn, "test"); err != nil {
		t.Fatal(err)
	}
	if identity(t, conn) == before {
		t.Error("a fresh clone kept its id")
	}
	exec(t, conn, "INSERT INTO heyaira_loop.work_event (item_id, event_no, at, kind, digest) VALUES (0, 1, now(), 'covered', 'x')")
	if err := migrations.Identify(t.Context(), conn, "test"); !errors.Is(err, migrations.ErrRefused) {
		t.Errorf("with history: %v", err)
	}
}

func migrated(t *testing.T) *pgx.Conn {
	t.Helper()
	conn := pgtest.Connect(t, pgtest.Database(t))
	if _, _, err := migrations.Apply(t.Context(), conn, "test"); err != nil {
		t.Fatal(err)
	}
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func identity(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	var id string
	if err := conn.QueryRow(t.Context(), "SELECT id::text FROM heyaira_loop.ledger_identity").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// idle fails unless conn is out of any transaction and its session holds no lock.
func idle(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if status := conn.PgConn().TxStatus(); status != 'I' {
		t.Errorf("transaction status %c", status)
	}
	var locks int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()").Scan(&locks); err != nil || locks != 0 {
		t.Errorf("%d advisory locks stay behind, %v", locks, err)
	}
}

// waitForLock returns when some session of the database waits for a lock.
func waitForLock(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for waiting := false; !waiting; {
		err := conn.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}
