package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/lease"
)

// client makes a folder with programs that only know their version.
func client(t testing.TB, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"pg_dump", "pg_restore"} {
		script := fmt.Sprintf("#!/bin/sh\necho '%s (PostgreSQL) %s'\n", name, version)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	return dir
}

func TestClientOfTheServersMajorElseTheNearestNewerNeverAnOlder(t *testing.T) {
	t.Parallel()
	folders := []string{
		client(t, "18.1"), client(t, "14.20"), client(t, "16.4 (Debian 16.4-1)"), client(t, "16.10"), t.TempDir(), "/nowhere", client(t, "nonsense"),
	}
	for _, c := range []struct {
		server  int
		version int
		folder  string
	}{
		{13, 140020, folders[1]},
		{14, 140020, folders[1]},
		{15, 160010, folders[3]},
		{16, 160010, folders[3]},
		{17, 180001, folders[0]},
		{18, 180001, folders[0]},
		{19, 0, ""},
	} {
		got := bestTools(t.Context(), folders, c.server)
		if got.version != c.version || c.folder != "" && got.dump != filepath.Join(c.folder, "pg_dump") {
			t.Errorf("server %d: got %s (%d), want version %d", c.server, got.dump, got.version, c.version)
		}
	}
}

func TestNamedClientIsTheOnlyOneLookedAt(t *testing.T) {
	t.Parallel()
	dir := client(t, "16.4")
	if got, err := findTools(t.Context(), dir, 15); err != nil || got.dump != filepath.Join(dir, "pg_dump") || got.restore != filepath.Join(dir, "pg_restore") {
		t.Errorf("findTools(16.4, server 15) = %+v, %v, want the client in %s", got, err, dir)
	}
	for name, dir := range map[string]string{"ErrOlder": dir, "ErrMissing": t.TempDir(), "ErrGarbled": client(t, "nonsense")} {
		_, err := findTools(t.Context(), dir, 17)
		if lease.ClassOf(err) != lease.Blocked || !strings.Contains(hintOf(err), "postgresql-client-17") {
			t.Errorf("%s: findTools = %v (%s, hint %q), want blocked with the package to install", name, err, lease.ClassOf(err), hintOf(err))
		}
	}
}

func TestClientOfARealServerIsFound(t *testing.T) {
	t.Parallel()
	got, err := findTools(t.Context(), "", 13)
	if err != nil {
		t.Fatalf("find tools: %v", err)
	}
	if got.version < 130000 || got.version > 990000 {
		t.Errorf("version = %d, want a server_version_num", got.version)
	}
}

func TestNoClientForAFutureServerIsBlocked(t *testing.T) {
	t.Parallel()
	_, err := findTools(t.Context(), "", 99)
	if lease.ClassOf(err) != lease.Blocked || !strings.Contains(hintOf(err), "postgresql-client-99") {
		t.Errorf("findTools = %v (hint %q), want blocked with the package to install", err, hintOf(err))
	}
}

func TestVersionsAsClientsWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"pg_dump (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 150018,
		"pg_dump (PostgreSQL) 18beta1\n":                        180000,
		"pg_dump (PostgreSQL) 13.0":                             130000,
		"pg_dump 15":                                            0,
		"":                                                      0,
	} {
		if got, err := parseVersion(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("parseVersion(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}
