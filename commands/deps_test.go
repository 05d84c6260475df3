package commands

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/heyaira/heyaira-loop"

// leaves may be imported by every room.
var leaves = []string{"lease", "migrations", "internal/canon", "internal/proc", "internal/store", "internal/config"}

// arrows are what each room may import of the project, besides leaves.
var arrows = map[string][]string{
	"":                         {"commands"},
	"commands":                 {"backup", "internal/loop", "ledger"},
	"backup":                   {"internal/loop", "ledger"},
	"internal/loop":            {"ledger"},
	"ledger":                   {},
	"lease/leasetest":          {},
	"internal/pgtest":          {},
	"internal/store":           {},
	"internal/proc":            {},
	"internal/config":          {},
	"internal/canon":           {},
	"lease":                    {},
	"migrations":               {},
	"internal/store/storetest": {},
	"internal/store/r2test":    {},
}

// only are libraries that one room has to itself.
var only = map[string]string{
	"github.com/urfave/cli/v2":           "commands",
	"github.com/olekukonko/tablewriter":  "commands",
	"github.com/schollz/progressbar/v3":  "commands",
	"github.com/jackc/tern/v2/migrate":   "migrations",
	"github.com/goccy/go-yaml":           "internal/config",
	"github.com/klauspost/compress/zstd": "backup",
	"github.com/minio/minio-go/v7":       "internal/store",
	"github.com/johannesboyne/gofakes3":  "internal/store/r2test",
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var one goPackage
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
}

// room is a package's path inside the project, and whether it is of the project.
func room(path string) (string, bool) {
	rest, ours := strings.CutPrefix(path, module)
	return strings.TrimPrefix(rest, "/"), ours
}

func TestImportsFollowTheArrows(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range packages(t) {
		from, _ := room(p.ImportPath)
		allowed, known := arrows[from]
		if !known {
			t.Errorf("package %s has no arrows", from)
		}
		seen++
		for _, path := range p.Imports {
			to, ours := room(path)
			if !ours {
				if owner := only[path]; owner != "" && owner != from {
					t.Errorf("%s imports %s, which is for %s alone", from, path, owner)
				}
				continue
			}
			switch {
			case from == "lease" && to != "internal/canon":
				t.Errorf("lease imports %s, it may import internal/canon only", to)
			case from == "internal/canon" || from == "migrations":
				t.Errorf("%s imports %s, it may import nothing of the project", from, to)
			case !slices.Contains(allowed, to) && !slices.Contains(leaves, to):
				t.Errorf("%s imports %s against the arrows", from, to)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

// What lease is built on must not bring a database along.
func TestLeaseKnowsNoSQL(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-deps", "./lease")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for path := range strings.Lines(string(out)) {
		if strings.Contains(path, "pgx") || strings.HasPrefix(path, "database/sql") {
			t.Errorf("lease depends on %s", strings.TrimSpace(path))
		}
	}
}
