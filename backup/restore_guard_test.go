package backup

import (
	"errors"
	"os"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/heyaira/heyaira-loop/internal/canon"
	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

func TestTargetThatHoldsAnythingIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	b.backup(t)
	for what, statement := range map[string]string{
		"relation public.t":        "CREATE TABLE public.t ()",
		"relation public.v":        "CREATE VIEW public.v AS SELECT 1 AS x",
		"relation public.s":        "CREATE SEQUENCE public.s",
		"function public.f()":      "CREATE FUNCTION public.f() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
		"type public.e":            "CREATE TYPE public.e AS ENUM ('a')",
		"type public.d":            "CREATE DOMAIN public.d AS integer",
		"schema other":             "CREATE SCHEMA other",
		"large object 4711":        "SELECT lo_create(4711)",
		"extension bloom":          "CREATE EXTENSION bloom SCHEMA pg_catalog",
		"publication p":            "CREATE PUBLICATION p FOR ALL TABLES",
		"foreign data wrapper fdw": "CREATE FOREIGN DATA WRAPPER fdw",
	} {
		to := pgtest.Database(t)
		pgtest.Exec(t, to, statement)
		_, err := b.restore(t, RestoreOptions{To: to})
		if err == nil || !strings.Contains(err.Error(), "is not empty: "+what+", ") {
			t.Errorf("%s: got %v, want it named", what, err)
		}
	}
}

func TestProtectedDatabaseIsNoTargetUnlessItsNameIsTyped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	b.backup(t)
	name := databaseOf(t, b.database)
	pgtest.Exec(t, b.database, "DROP TABLE kept") // it lost everything
	for _, typed := range []string{"", "other"} {
		_, err := b.restore(t, RestoreOptions{To: b.database, Confirm: typed})
		if err == nil || !strings.Contains(err.Error(), "this is the protected database itself") {
			t.Errorf("typed %q: got %v, want refused", typed, err)
		}
	}
	assertEmpty(t, b.database)
	if _, err := b.restore(t, RestoreOptions{To: b.database, Confirm: name}); err != nil {
		t.Errorf("typed: %v", err)
	}
	if _, err := b.restore(t, RestoreOptions{To: b.database, Confirm: name}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("typed, and it is full: got %v, want refused", err)
	}
}

func TestTemplateIsNoTarget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	b.backup(t)
	to := pgtest.Database(t)
	is := func(template string) {
		pgtest.Exec(t, b.database, "ALTER DATABASE "+databaseOf(t, to)+" IS_TEMPLATE "+template)
	}
	is("true")
	defer is("false") // one that is a template cannot be dropped
	_, err := b.restore(t, RestoreOptions{To: to})
	if err == nil || !strings.Contains(err.Error(), "it is a template") {
		t.Errorf("got %v, want refused", err)
	}
	assertEmpty(t, to)
}

func TestWrongKeyIsToldBeforeTheTargetIsTouched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	b.backup(t)
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	// The target does not even exist: nobody asked for it.
	_, err = b.restore(t, RestoreOptions{To: other(t, b.database, "nowhere"), Identities: []age.Identity{key}})
	if !errors.Is(err, errNoKey) {
		t.Errorf("got %v, want that the key does not fit", err)
	}
}

func TestMissingRolesAreToldBeforeTheTargetIsTouched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.rich(t)
	b.backup(t)
	server := pgtest.NewServer(t)
	to := server.Database(t)
	_, err := b.restore(t, RestoreOptions{To: to})
	if err == nil || !strings.Contains(err.Error(), "lacks roles: Reader ") {
		t.Errorf("got %v, want the role named", err)
	}
	_, err = b.restore(t, RestoreOptions{To: to, NoOwner: true})
	if err == nil || !strings.Contains(err.Error(), "lacks roles: Reader ") {
		t.Errorf("privileges alone: got %v, want the role named", err)
	}
	assertEmpty(t, to)
	if _, err := b.restore(t, RestoreOptions{To: to, NoOwner: true, NoPrivileges: true}); err != nil {
		t.Errorf("without owners and privileges: %v", err)
	}
}

// rewrite changes the manifest of a backup as its writer could have written it.
func (b *bench) rewrite(t *testing.T, backup string, change func(m *Manifest)) {
	t.Helper()
	id, err := ParseID(backup)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := readManifest(t.Context(), b.store, benchScope, id)
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	if err := m.seal(); err != nil {
		t.Fatal(err)
	}
	text, err := canon.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.path(t, backup, manifestName), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUnfitServerIsToldBeforeTheTargetIsTouched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	published := b.backup(t)
	to := pgtest.Database(t)
	b.rewrite(t, published.Backup, func(m *Manifest) { m.Extensions["no_such_thing"] = "1" })
	_, err := b.restore(t, RestoreOptions{To: to, Backup: published.Backup})
	if err == nil || !strings.Contains(err.Error(), "lacks extensions: no_such_thing") {
		t.Errorf("got %v, want the extension named", err)
	}
	b.rewrite(t, published.Backup, func(m *Manifest) { m.Server.Version = 990000 })
	_, err = b.restore(t, RestoreOptions{To: to, Backup: published.Backup})
	if err == nil || !strings.Contains(err.Error(), "the backup is from 99") {
		t.Errorf("got %v, want the version named", err)
	}
	assertEmpty(t, to)
}

func TestPasswordInATargetIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	b.backup(t)
	for _, to := range []string{
		"host=/tmp dbname=x password=canary", "postgres://me:canary@localhost/x", "postgresql://localhost/x?password=canary",
		"host=/tmp dbname=x PASSWORD = 'canary'",
	} {
		_, err := b.restore(t, RestoreOptions{To: to})
		if err == nil || !strings.Contains(err.Error(), "holds a password") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.20s…: got %v", to, err)
		}
	}
}
