package ledger_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

// Every statement is prepared against a migrated ledger: a name that the schema does not
// have is found here and not by an operator.
func TestEveryStatementPrepares(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d statements, %v", len(files), err)
	}
	conn := pgtest.Connect(t, pgtest.Ledger(t))
	for _, file := range files {
		sql, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		if _, err := conn.Prepare(t.Context(), name, string(sql)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if !strings.HasPrefix(string(sql), "-- "+name+": ") {
			t.Errorf("%s does not begin with its name and reason", file)
		}
		for _, line := range strings.Split(string(sql), "\n") {
			if strings.HasPrefix(line, " ") {
				t.Errorf("%s is indented with spaces: %q", file, line)
				break
			}
		}
	}
}
