package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/internal/proc"
	"github.com/heyaira/heyaira-loop/lease"
)

// open opens a snapshot that ends with the test.
func open(t testing.TB, service string) *snapshot {
	t.Helper()
	s, err := openSnapshot(t.Context(), service, "plan")
	if err != nil {
		t.Fatalf("open snapshot: %v", err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func pgDump(t testing.TB, s *snapshot) string {
	t.Helper()
	client, err := findTools(t.Context(), "", s.Server.Version/10000)
	if err != nil {
		t.Fatalf("find tools: %v", err)
	}
	return client.dump
}

// listed is what pg_restore writes of an archive: SQL.
func listed(t testing.TB, archive []byte) string {
	t.Helper()
	client, err := findTools(t.Context(), "", 13)
	if err != nil {
		t.Fatalf("find tools: %v", err)
	}
	cmd := exec.Command(client.restore, "-f", "-")
	cmd.Stdin = bytes.NewReader(archive)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pg_restore: %v", err)
	}
	return string(out)
}

func TestDumpHoldsTheSnapshotAndNothingLater(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	pgtest.Exec(t, conninfo, "CREATE TABLE t (note text); INSERT INTO t VALUES ('before')")
	s := open(t, service(t, conninfo))
	pgtest.Exec(t, conninfo, "INSERT INTO t VALUES ('after')")

	stream, err := s.dump(t.Context(), pgDump(t, s))
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	archive, err := io.ReadAll(stream)
	if err != nil {
		t.Fatalf("read dump: %v", err)
	}
	if err := stream.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if sql := listed(t, archive); !strings.Contains(sql, "before") || strings.Contains(sql, "after") {
		t.Errorf("dump = %s, want the row of before the snapshot and no later one", sql)
	}

	now, _, err := readMarker(t.Context(), observerOf(t, s), "plan")
	if err != nil {
		t.Fatalf("read marker: %v", err)
	}
	if got := now.compare(s.Marker); got.word == unchanged {
		t.Error("the row of after the snapshot is covered by it")
	}
	if s.Server.Version < 130000 || s.Server.Encoding != "UTF8" || s.Server.Standby || s.Server.SystemIdentifier == "" ||
		!strings.Contains(conninfo, "dbname="+s.Server.Database) || s.Extensions["plpgsql"] == "" || s.Size <= 0 {
		t.Errorf("server facts = %+v, extensions %v, %d bytes", s.Server, s.Extensions, s.Size)
	}
	if age := time.Since(s.TakenAt); age < -time.Minute || age > 10*time.Minute || s.TakenAt.Location() != time.UTC {
		t.Errorf("taken at %s, want a moment ago in UTC", s.TakenAt)
	}
	if covered, err := ParseMarker(s.Marker.Text()); err != nil || covered != s.Marker {
		t.Errorf("ParseMarker(Text()) = %+v, %v, want %+v", covered, err, s.Marker)
	}
}

// observerOf is another session on the snapshot's database, as the observer's.
func observerOf(t testing.TB, s *snapshot) *pgx.Conn {
	t.Helper()
	conn, _, err := connectSource(t.Context(), s.where.service)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { hangUp(context.Background(), conn) })
	return conn
}

func TestNoTimeLimitEndsTheExportingTransaction(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	s := open(t, service(t, conninfo))
	for _, name := range []string{"idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout"} {
		var value, isolation string
		if err := s.conn.QueryRow(t.Context(), "SELECT current_setting($1), current_setting('transaction_isolation')", name).Scan(&value, &isolation); err != nil {
			t.Fatalf("read %s: %v", name, err)
		}
		if value != "0" || isolation != "repeatable read" {
			t.Errorf("%s = %s, isolation %s, want 0, repeatable read", name, value, isolation)
		}
	}
}

func TestLedgerIsNeverDumped(t *testing.T) {
	t.Parallel()
	_, err := openSnapshot(t.Context(), service(t, pgtest.Ledger(t)), "plan")
	if lease.ClassOf(err) != lease.Permanent {
		t.Errorf("open snapshot of the ledger = %v (%s), want permanent", err, lease.ClassOf(err))
	}
}

// A dump that was killed in its middle must not look like one that ended.
func TestFailedDumpIsAReadErrorAndIsNeverSealed(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	pgtest.Exec(t, conninfo, "CREATE TABLE t AS SELECT i, repeat('x', 100) FROM generate_series(1, 100000) i")
	name := service(t, conninfo)
	gone := errors.New("lease lost")
	for what, end := range map[string]func(s *snapshot, cancel context.CancelCauseFunc){
		"server ended its session": func(s *snapshot, _ context.CancelCauseFunc) {
			pgtest.Exec(t, conninfo, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pg_dump' AND datname = current_database()")
		},
		"killed":    func(s *snapshot, _ context.CancelCauseFunc) { kill(t, s) },
		"cancelled": func(_ *snapshot, cancel context.CancelCauseFunc) { cancel(gone) },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := open(t, name)
		stream, err := s.dump(ctx, pgDump(t, s))
		if err != nil {
			t.Fatalf("%s: dump: %v", what, err)
		}
		if _, err := io.ReadFull(stream, make([]byte, 1000)); err != nil {
			t.Fatalf("%s: read: %v", what, err)
		}
		end(s, cancel)
		sealed, err := newSealer(io.Discard, []age.Recipient{newIdentity(t).Recipient()}, 3)
		if err != nil {
			t.Fatalf("new sealer: %v", err)
		}
		_, err = io.Copy(sealed, stream)
		var exit *proc.ExitError
		switch {
		case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("%s: read = %v, want an error that is no end", what, err)
		case !errors.As(err, &exit) && !errors.Is(err, gone):
			t.Errorf("%s: read = %v, want how pg_dump ended", what, err)
		}
		if err := sealed.Close(); err == nil {
			t.Errorf("%s: sealer closed cleanly", what)
		}
		if err := stream.Close(); err != nil {
			t.Logf("%s: close: %v", what, err)
		}
		s.Close(t.Context())
		cancel(nil)
	}
}

// children are the processes that dump a snapshot.
func children(t testing.TB, s *snapshot) []string {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatalf("list processes: %v", err)
	}
	return slices.DeleteFunc(found, func(dir string) bool {
		arguments, err := os.ReadFile(dir + "/cmdline")
		return err != nil || !strings.Contains(string(arguments), "--snapshot="+s.ID) || !strings.Contains(string(arguments), s.where.conninfo())
	})
}

func kill(t testing.TB, s *snapshot) {
	t.Helper()
	for _, dir := range children(t, s) {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatalf("read pid: %v", err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill pg_dump: %v", err)
		}
	}
}

// The second host answers; libpq would ask the first again.
func TestDumpGoesWhereItsSnapshotIsAndCarriesNoPassword(t *testing.T) {
	t.Parallel()
	const canary = "c4nary-password"
	conninfo := pgtest.Database(t)
	pgtest.Exec(t, conninfo, "CREATE TABLE t AS SELECT i, repeat('x', 100) FROM generate_series(1, 20000) i")
	name := service(t, strings.NewReplacer("host=", "host=/nowhere,", "port=5432", "port=5432,5432").Replace(conninfo), "password="+canary, "keepalives=1")
	s := open(t, name)
	stream, err := s.dump(t.Context(), pgDump(t, s))
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	defer stream.Close()
	if _, err := io.ReadFull(stream, make([]byte, 1000)); err != nil {
		t.Fatalf("read: %v", err)
	}
	running := children(t, s)
	if len(running) != 1 {
		t.Fatalf("processes that dump: %q, want one", running)
	}
	for _, file := range []string{"/cmdline", "/environ"} {
		text, err := os.ReadFile(running[0] + file)
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		if len(text) == 0 || strings.Contains(string(text), canary) || strings.Contains(string(text), "nowhere") {
			t.Errorf("%s = %q, want no password and one host", file, text)
		}
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("read: %v", err)
	}
}

func TestRefusedAccessToATableIsBlockedAndNamed(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Database(t)
	role := "limited_" + strings.ToLower(rand.Text()[:8])
	pgtest.Exec(t, conninfo, "CREATE ROLE "+role+" LOGIN; CREATE TABLE hidden (id int)")
	t.Cleanup(func() { pgtest.Exec(t, conninfo, "DROP ROLE "+role) })
	s := open(t, service(t, strings.Replace(conninfo, "user=postgres", "user="+role, 1)))
	stream, err := s.dump(t.Context(), pgDump(t, s))
	if err != nil {
		t.Fatalf("dump: %v", err)
	}
	defer stream.Close()
	_, err = io.Copy(io.Discard, stream)
	if lease.ClassOf(err) != lease.Blocked || !strings.Contains(fmt.Sprint(err), "hidden") || !strings.Contains(hintOf(err), "pg_read_all_data") {
		t.Errorf("dump = %v (%s, hint %q), want blocked, the table and what to grant", err, lease.ClassOf(err), hintOf(err))
	}
}

// The marker must claim nothing that the snapshot does not show. Rows are committed
// and counted without pause; the other order is tried beside, to know that the race
// is on.
func TestMarkerNeverClaimsWhatTheSnapshotLacks(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, "autovacuum=off")
	conninfo := server.Database(t)
	pgtest.Exec(t, conninfo, "CREATE TABLE t (id int)")
	name := service(t, conninfo)

	start := open(t, name)
	base := inserted(t, start.Marker)
	start.Close(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	wrote := make(chan error, 1)
	go func() { wrote <- writeOn(ctx, conninfo) }()

	reader := pgtest.Connect(t, conninfo)
	trapped := 0
	for range 40 {
		s := open(t, name)
		rows := visible(t, reader, s)
		if claimed := inserted(t, s.Marker) - base; claimed > rows {
			t.Errorf("marker claims %d rows, the snapshot shows %d", claimed, rows)
		}
		late, _, err := queryMarker(t.Context(), s.conn, "plan", false)
		if err != nil {
			t.Fatalf("read marker: %v", err)
		}
		if inserted(t, late)-base > rows {
			trapped++
		}
		s.Close(t.Context())
	}
	stop()
	if err := <-wrote; err != nil {
		t.Fatalf("write: %v", err)
	}
	if trapped == 0 {
		t.Error("a marker read after the snapshot claimed too much in no round: there was no race")
	}
}

// writeOn commits rows one by one, each counted at once, until ctx ends.
func writeOn(ctx context.Context, conninfo string) error {
	conn, err := pgx.Connect(context.WithoutCancel(ctx), conninfo)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for ctx.Err() == nil {
		if _, err := conn.Exec(context.WithoutCancel(ctx), "INSERT INTO t VALUES (1); SELECT pg_stat_force_next_flush()"); err != nil {
			return err
		}
	}
	return nil
}

func inserted(t testing.TB, m Marker) int {
	t.Helper()
	head, _, _ := strings.Cut(m.Cnt, "/")
	n, err := strconv.Atoi(head)
	if err != nil {
		t.Fatalf("counters %q: %v", m.Cnt, err)
	}
	return n
}

// visible counts the rows of a snapshot in a transaction of another session.
func visible(t testing.TB, conn *pgx.Conn, s *snapshot) int {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SET TRANSACTION SNAPSHOT '"+s.ID+"'"); err != nil {
		t.Fatalf("import snapshot: %v", err)
	}
	var rows int
	if err := tx.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&rows); err != nil {
		t.Fatalf("count: %v", err)
	}
	return rows
}
