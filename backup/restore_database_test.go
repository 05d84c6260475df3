package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
)

// small fills the protected database with little.
func (b *bench) small(t *testing.T) {
	t.Helper()
	pgtest.Exec(t, b.database, "CREATE TABLE kept (n integer); INSERT INTO kept SELECT generate_series(1, 10)")
}

// assertEmpty fails where a database holds anything.
func assertEmpty(t *testing.T, conninfo string) {
	t.Helper()
	if err := empty(t.Context(), pgtest.Connect(t, conninfo), "target"); err != nil {
		t.Error(err)
	}
}

// other is the conninfo of another database on the server of conninfo.
func other(t *testing.T, conninfo, database string) string {
	t.Helper()
	config, err := pgx.ParseConfig(conninfo)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(conninfo, "dbname="+config.Database, "dbname="+database, 1)
}

// exists tells whether a server has a database.
func exists(t *testing.T, conninfo, database string) (there bool) {
	t.Helper()
	conn := pgtest.Connect(t, other(t, conninfo, "postgres"))
	if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).Scan(&there); err != nil {
		t.Fatal(err)
	}
	return there
}

func TestDamagedBackupReachesNoTarget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	published := b.backup(t)
	to := pgtest.Database(t)
	created := "made_" + filepath.Base(b.folder) + strings.ToLower(filepath.Base(to))
	for name, damage := range map[string]func(path string){
		"changed": func(path string) { flipByte(t, path, -5) },
		"cut": func(path string) {
			if err := os.Truncate(path, 1500); err != nil {
				t.Fatal(err)
			}
		},
		"missing": func(path string) { remove(t, path) },
	} {
		path := b.path(t, published.Backup, mainName)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damage(path)
		out := filepath.Join(t.TempDir(), "archive")
		for _, o := range []RestoreOptions{{To: to}, {To: other(t, to, created), Create: true}, {Output: out}} {
			if _, err := b.restore(t, o); lease.ClassOf(err) != lease.Refuted {
				t.Errorf("%s: got %v, want refuted", name, err)
			}
		}
		assertEmpty(t, to)
		if exists(t, to, created) {
			t.Errorf("%s: a target was made", name)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.restore(t, RestoreOptions{To: to}); err != nil {
		t.Errorf("healed: %v", err)
	}
}

func databaseOf(t *testing.T, conninfo string) string {
	t.Helper()
	config, err := pgx.ParseConfig(conninfo)
	if err != nil {
		t.Fatal(err)
	}
	return config.Database
}

func TestTargetIsMadeWithTheLocaleOfTheOriginal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := pgtest.NewServer(t)
	for origin, options := range map[string]string{
		"UTF8 C C.UTF-8": "ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8'",
		"LATIN1 C C":     "ENCODING 'LATIN1' LOCALE 'C'",
	} {
		server.Exec("postgres", "CREATE DATABASE origin TEMPLATE template0 "+options)
		b.database = server.Conninfo("origin")
		b.config.Service = service(t, b.database)
		b.small(t)
		b.backup(t)
		server.Exec("postgres", "DROP DATABASE origin")

		to := server.Conninfo(`'Made; "it'`)
		if report, err := b.restore(t, RestoreOptions{To: to, Create: true}); err != nil || report.Tables != 1 {
			t.Fatalf("restore: %+v, %v", report, err)
		}
		var locale string
		err := pgtest.Connect(t, to).QueryRow(t.Context(),
			"SELECT pg_encoding_to_char(encoding) || ' ' || datcollate || ' ' || datctype FROM pg_database WHERE datname = current_database()").Scan(&locale)
		if err != nil || locale != origin {
			t.Errorf("made with %s, %v, want %s", locale, err, origin)
		}
		if _, err = b.restore(t, RestoreOptions{To: to, Create: true}); err == nil || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("made twice: %v", err)
		}
		if !exists(t, server.Conninfo("postgres"), `Made; "it`) {
			t.Error("a database that was there before is gone")
		}
		server.Exec("postgres", `DROP DATABASE "Made; ""it" WITH (FORCE)`)
	}
}

// unrestorable is a database whose dump cannot be restored: a check looks at rows that
// come later.
func (b *bench) unrestorable(t *testing.T) {
	t.Helper()
	pgtest.Exec(t, b.database, `
		CREATE TABLE zz_later (n integer);
		INSERT INTO zz_later VALUES (1);
		CREATE FUNCTION later() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN EXISTS (SELECT FROM public.zz_later); END';
		CREATE TABLE aa_first (n integer CHECK (later()));
		INSERT INTO aa_first VALUES (1)`)
}

func TestRestoreThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.unrestorable(t)
	b.backup(t)
	to := pgtest.Database(t)
	created := "made_" + databaseOf(t, to)
	for _, o := range []RestoreOptions{{To: to}, {To: other(t, to, created), Create: true}} {
		if _, err := b.restore(t, o); err == nil || !strings.Contains(err.Error(), "violates check constraint") {
			t.Errorf("got %v, want pg_restore's failure", err)
		}
	}
	assertEmpty(t, to)
	if exists(t, to, created) {
		t.Error("a target that is not whole was left")
	}
}

func TestInterruptedRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.large(t)
	b.backup(t)
	to := pgtest.Database(t)
	created := "made_" + databaseOf(t, to)
	for _, o := range []RestoreOptions{{To: to}, {To: other(t, to, created), Create: true}} {
		ctx, cancel := context.WithCancel(t.Context())
		o.Store, o.Identities = b.store, []age.Identity{b.key}
		o.Progress = func(stage string, n int64) {
			if stage == "restore" && n > 1<<20 {
				cancel()
			}
		}
		if _, err := Restore(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the interruption", err)
		}
		cancel()
	}
	assertEmpty(t, to)
	if exists(t, to, created) {
		t.Error("a target that is not whole was left")
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	published := b.backup(t)
	to := pgtest.Database(t)
	created := "made_" + databaseOf(t, to)
	out := filepath.Join(t.TempDir(), "archive")
	for _, o := range []RestoreOptions{{To: to}, {To: other(t, to, created), Create: true}, {Output: out}} {
		o.DryRun = true
		report, err := b.restore(t, o)
		if err != nil || report.Backup != published.Backup || !report.DryRun || report.Bytes != 0 {
			t.Errorf("got %+v, %v", report, err)
		}
	}
	assertEmpty(t, to)
	if _, err := os.Stat(out); err == nil || exists(t, to, created) {
		t.Error("something was made")
	}
}
