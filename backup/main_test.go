package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "backup")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("PGSERVICEFILE", filepath.Join(dir, "pg_service.conf"))
	os.Setenv("PGPASSFILE", filepath.Join(dir, "pgpass"))
	if err := os.WriteFile(os.Getenv("PGSERVICEFILE"), nil, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return pgtest.Main(m)
}

// services guards the one service file of this test process.
var services sync.Mutex

// service puts a libpq service for a conninfo into the file that PGSERVICEFILE names,
// and answers its name. Lines are added as they are.
func service(t testing.TB, conninfo string, lines ...string) string {
	t.Helper()
	services.Lock()
	defer services.Unlock()
	text, err := os.ReadFile(os.Getenv("PGSERVICEFILE"))
	if err != nil {
		t.Fatalf("read service file: %v", err)
	}
	name := fmt.Sprintf("s%d", strings.Count(string(text), "["))
	added := "[" + name + "]\n" + strings.ReplaceAll(conninfo, " ", "\n") + "\n"
	for _, line := range lines {
		added += line + "\n"
	}
	file, err := os.OpenFile(os.Getenv("PGSERVICEFILE"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("open service file: %v", err)
	}
	defer file.Close()
	if _, err := file.WriteString(added); err != nil { // one write: readers see all of it or nothing
		t.Fatalf("write service file: %v", err)
	}
	return name
}

// write puts text into a file of the test's own and answers its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write %s: %v", name, err)
	}
	return path
}

// hintOf is the advice that an error carries, "" where it has none.
func hintOf(err error) string {
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) {
		return ""
	}
	return hinted.Hint()
}
