package backup

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

var (
	//go:embed testdata/rich.sql
	richSQL string
	//go:embed testdata/grants.sql
	grantsSQL string
)

// rich fills the protected database with some of everything.
func (b *bench) rich(t *testing.T) {
	t.Helper()
	pgtest.Exec(t, b.database, richSQL)
	role := "Reader " + filepath.Base(b.folder) + filepath.Base(filepath.Dir(b.folder))
	conn := pgtest.Connect(t, b.database)
	if _, err := conn.Exec(t.Context(), "SELECT set_config('test.role', $1, false)", role); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), grantsSQL); err != nil {
		t.Fatal(err)
	}
}

// contents is everything that pg_dump tells of a database, as text.
func contents(t *testing.T, conninfo string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(shell(t, "", "pg_dump", "--dbname="+conninfo)) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func shell(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, said.String())
	}
	return out.String()
}

func TestRestoredDatabaseEqualsTheOriginal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.rich(t)
	published := b.backup(t)
	want := contents(t, b.database)
	for _, needle := range []string{"lo_open", "ATTACH PARTITION", "GENERATED ALWAYS", "MATERIALIZED VIEW", "GRANT", "CREATE EXTENSION", "UNLOGGED"} {
		if !strings.Contains(want, needle) {
			t.Fatalf("the sample holds no %s", needle)
		}
	}
	to := pgtest.Database(t)

	report, err := b.restore(t, RestoreOptions{To: to})
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	if got := contents(t, to); got != want {
		t.Errorf("contents differ:\n%s", firstDifference(got, want))
	}
	if report.Backup != published.Backup || report.Tables != 8 || report.Bytes == 0 || report.Scope != benchScope {
		t.Errorf("report %+v", report)
	}
	sums := "SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM shop.totals AS t"
	var before, after string
	if err := pgtest.Connect(t, b.database).QueryRow(t.Context(), sums).Scan(&before); err != nil {
		t.Fatal(err)
	}
	if err := pgtest.Connect(t, to).QueryRow(t.Context(), sums).Scan(&after); err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Error("the materialized view holds other rows")
	}
}

func TestBackupIsRestoredByHandAsItsManifestSays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.rich(t)
	published := b.backup(t)
	manifest, err := newestManifest(t.Context(), b.store, benchScope)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(b.key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := pgtest.Database(t)

	line := strings.NewReplacer("KEY", key, "DATABASE", "'"+to+"'").Replace(manifest.Restore)
	shell(t, filepath.Dir(b.path(t, published.Backup, manifestName)), "bash", "-o", "pipefail", "-c", line)
	if got, want := contents(t, to), contents(t, b.database); got != want {
		t.Errorf("contents differ:\n%s", firstDifference(got, want))
	}
}

func TestTargetMayBeAServiceOrAURL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.small(t)
	b.backup(t)
	for _, form := range []func(conninfo string) string{
		func(conninfo string) string { return "service=" + service(t, conninfo) },
		func(conninfo string) string {
			config, err := pgx.ParseConfig(conninfo)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("postgresql://%s@/%s?host=%s&port=%d", config.User, config.Database, url.QueryEscape(config.Host), config.Port)
		},
	} {
		to := pgtest.Database(t)
		if report, err := b.restore(t, RestoreOptions{To: form(to)}); err != nil || report.Tables != 1 || report.Target != databaseOf(t, to) {
			t.Errorf("%s: %+v, %v", form(to), report, err)
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "got  " + a[i] + "\nwant " + b[i]
		}
	}
	return "one is longer"
}
