package pgtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// ServiceFile writes a file for PGSERVICEFILE with one section for each service
// name and answers its path.
func ServiceFile(t testing.TB, conninfos map[string]string) string {
	t.Helper()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(conninfos)) {
		config, err := pgconn.ParseConfig(conninfos[name])
		if err != nil {
			t.Fatalf("parse conninfo of service %s: %v", name, err)
		}
		fmt.Fprintf(&text, "[%s]\nhost=%s\nport=%d\nuser=%s\ndbname=%s\n", name, config.Host, config.Port, config.User, config.Database)
	}
	path := filepath.Join(t.TempDir(), "pg_service.conf")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatalf("write service file: %v", err)
	}
	return path
}
