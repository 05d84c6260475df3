package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// A ledger that is not what it was, or that could not keep its promises, is refused by
// the first question, with what a person can do.
func TestLedgerIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, sql, reason, hint string
	}{
		{"ErrSystem", "UPDATE heyaira_loop.ledger_identity SET system_identifier = 1", "another system identifier", "true ledger"},
		{"ErrDatabase", "UPDATE heyaira_loop.ledger_identity SET database_oid = 1, system_identifier = 1", "another system identifier, another database oid", "true ledger"},
		{"ErrTimeline", "UPDATE heyaira_loop.ledger_identity SET timeline = '000000FF'", "another timeline", "true ledger"},
		{"ErrEnvironment", "UPDATE heyaira_loop.ledger_identity SET environment = 'production'", `environment "production", this host's is "test"`, "configuration"},
		{"ErrProgram", "UPDATE heyaira_loop.ledger_identity SET min_program = 99", "protocol 99", "install"},
		{"ErrOldSchema", "UPDATE heyaira_loop.schema_version SET version = 0", "schema version 0", "heyaira-loop migrate"},
		{"ErrNoIdentity", "DELETE FROM heyaira_loop.ledger_identity", "no identity", "heyaira-loop migrate"},
		{"ErrNoSchema", "DROP SCHEMA heyaira_loop CASCADE", "no schema", "heyaira-loop migrate"},
		{"ErrNoTable", "DROP TABLE heyaira_loop.known_store", "no schema", "heyaira-loop migrate"},
		{"ErrSynchronousCommit", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$", "synchronous_commit off", "migrate"},
		{"ErrClientEncoding", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_encoding = latin1', current_database()); END $$", "its sessions LATIN1", "client_encoding"},
		{"ErrReadOnly", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$", "read-only", "primary"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.sql(t, test.sql)
			db := l.open(t)
			_, headsErr := db.Heads(t.Context(), nil)
			_, identityErr := db.Identity(t.Context())
			for call, err := range map[string]error{"heads": headsErr, "identity": identityErr} {
				var refused *ledger.RefusedError
				if !errors.As(err, &refused) || !errors.Is(err, ledger.ErrRefused) {
					t.Errorf("%s: got %v", call, err)
					continue
				}
				if !strings.Contains(refused.Error(), test.reason) || !strings.Contains(refused.Hint, test.hint) {
					t.Errorf("%s: got %q, hint %q", call, refused, refused.Hint)
				}
			}
		})
	}
}

// A ledger newer than the program is used as long as it allows the program.
func TestNewerLedgerIsUsed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.sql(t, "UPDATE heyaira_loop.schema_version SET version = 99")
	if _, err := l.open(t).Heads(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestCloneOfALedgerIsRefused(t *testing.T) {
	t.Parallel()
	server, name := apart(t, pgtest.Ledger(t))
	pgtest.Exec(t, server+"postgres", "CREATE DATABASE "+name+"_copy TEMPLATE "+name)
	t.Cleanup(func() { pgtest.Exec(t, server+"postgres", "DROP DATABASE "+name+"_copy (FORCE)") })
	db := ledger.Open(ledger.Options{Conninfo: server + name + "_copy", Environment: "test", Host: "h1", Log: zerolog.Nop()})
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	if _, err := db.Identity(t.Context()); !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), "another database oid") {
		t.Errorf("got %v", err)
	}
	// It can be looked at all the same.
	report, err := db.Status(t.Context(), ledger.StatusQuery{})
	if err != nil || report.Refused == nil || !strings.Contains(report.Refused.Reason, "restored, cloned or moved") {
		t.Errorf("status: %+v, %v", report, err)
	}
}

func TestLedgerIsUnreachable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	server, name := apart(t, l.conninfo)
	l.sql(t, "CREATE ROLE closed_"+name)
	t.Cleanup(func() { pgtest.Exec(t, server+"postgres", "DROP ROLE closed_"+name) })
	tests := []struct {
		name, conninfo, reason, hint string
	}{
		{"ErrNoServer", "host=" + t.TempDir() + " dbname=ledger password=s3cret", "no such file", "server up"},
		{"ErrRefusedPort", "host=127.0.0.1 port=1 dbname=ledger password=s3cret sslmode=disable", "connection refused", "server up"},
		{"ErrNoHost", "postgres://u:s3cret@nowhere.invalid/ledger", "nowhere.invalid", "server up"},
		{"ErrNoDatabase", server + "nothing password=s3cret", `database "nothing" does not exist`, "createdb"},
		{"ErrRole", server + name + " user=closed_" + name + " password=s3cret", "not permitted to log in", "role"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := ledger.Open(ledger.Options{Conninfo: test.conninfo, Environment: "test", Host: "h1", Log: zerolog.Nop()})
			_, err := db.Heads(t.Context(), nil)
			var unreachable *ledger.UnreachableError
			if !errors.As(err, &unreachable) || !errors.Is(err, ledger.ErrUnreachable) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), test.reason) || !strings.Contains(unreachable.Hint, test.hint) {
				t.Errorf("got %q, hint %q", err, unreachable.Hint)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(unreachable.Hint, "s3cret") {
				t.Errorf("the password shows: %v", err)
			}
		})
	}
	t.Run("ErrTimeout", func(t *testing.T) {
		t.Parallel()
		l.sql(t, "BEGIN")
		l.sql(t, "LOCK TABLE heyaira_loop.ledger_identity")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := l.open(t).Identity(ctx); !errors.Is(err, ledger.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("ErrLost", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(lease.ErrLost)
		if _, err := newLab(t).open(t).Identity(ctx); !errors.Is(err, lease.ErrLost) || errors.Is(err, ledger.ErrUnreachable) {
			t.Errorf("got %v", err)
		}
	})
}

// apart answers the conninfo of the server, up to the name of a database, and the name.
func apart(t *testing.T, conninfo string) (server, name string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), conninfo)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	c := conn.Config()
	return fmt.Sprintf("host=%s port=%d user=%s dbname=", c.Host, c.Port, c.User), c.Database
}

// What cannot be read may hold a password anywhere.
func TestBadConninfoShowsNoPassword(t *testing.T) {
	t.Parallel()
	for _, conninfo := range []string{
		"password = s3cret host",
		"host=h password='s3cret",
		"postgres://u:s3cret@h:port/db",
		"postgres://u:s3/cret@h/db?sslmode=none",
		"postgres://u:p@h/db?password=s3cret&sslmode=bad",
		"password=s3cret sslmode=bad host=h",
		"password=s3cret service=nothing servicefile=/nonexistent",
		"password=s3cret port=none",
		"s3cret",
	} {
		db := ledger.Open(ledger.Options{Conninfo: conninfo, Environment: "test", Log: zerolog.Nop()})
		_, err := db.Identity(t.Context())
		if err == nil || strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: %v", conninfo, err)
		}
		var mistake *ledger.ConninfoError
		if !errors.As(err, &mistake) {
			t.Errorf("%s: %T", conninfo, err)
		}
	}
}

// A worker's role is a plain one: it owns nothing and reads no more of the server than
// everybody may.
func TestPlainRoleIsEnough(t *testing.T) {
	t.Parallel()
	conninfo := pgtest.Ledger(t)
	_, name := apart(t, conninfo)
	worker := "worker_" + name
	pgtest.Exec(t, conninfo, strings.ReplaceAll(`
		CREATE ROLE worker LOGIN;
		GRANT USAGE ON SCHEMA heyaira_loop TO worker;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA heyaira_loop TO worker;
		REVOKE UPDATE, DELETE ON heyaira_loop.work_event FROM worker;
		GRANT USAGE ON ALL SEQUENCES IN SCHEMA heyaira_loop TO worker`, "worker", worker))
	t.Cleanup(func() { pgtest.Exec(t, conninfo, "DROP OWNED BY "+worker+"; DROP ROLE "+worker) })
	db := ledger.Open(ledger.Options{Conninfo: conninfo + " user=" + worker, Environment: "test", Host: "h1", Log: zerolog.Nop()})
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	if err := db.Register(t.Context(), "h1", []ledger.Policy{{WorkType: backups, Coalesces: true}}, []ledger.Scope{{WorkType: backups, Key: "app"}}, "d"); err != nil {
		t.Fatal(err)
	}
	cover(t, db, "a")
	if h := head(t, db, backups, "app"); h.CoveredMarker != "a" {
		t.Errorf("head: %+v", h)
	}
	if err := db.Record(t.Context(), "restored", nil); err != nil {
		t.Error(err)
	}
	if err := db.Beat(t.Context(), "h1", "v", []ledger.Look{{WorkType: backups, Scope: "app"}}, 0); err != nil {
		t.Error(err)
	}
	if _, err := db.Status(t.Context(), ledger.StatusQuery{}); err != nil {
		t.Error(err)
	}
	pgtest.Exec(t, conninfo, "REVOKE ALL ON heyaira_loop.scope FROM "+worker)
	if _, err := db.Heads(t.Context(), nil); !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), "lacks a privilege") {
		t.Errorf("without a privilege: %v", err)
	}
}
