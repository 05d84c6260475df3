package commands

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

// readText is a file of the project, named from its root.
func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readmeMatch is what a pattern's group matches, once and no more.
func readmeMatch(t *testing.T, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(readText(t, "README.md"), -1)
	if len(found) != 1 {
		t.Fatalf("README.md: %d matches of %s, want one", len(found), pattern)
	}
	return found[0][1]
}

// readmeBlock is one fenced block of the README, without its indentation.
type readmeBlock struct {
	language, text string
}

func readmeBlocks(t *testing.T) []readmeBlock {
	t.Helper()
	var blocks []readmeBlock
	for _, found := range regexp.MustCompile("(?ms)^( *)```([^\n]*)\n(.*?)^ *```$").FindAllStringSubmatch(readText(t, "README.md"), -1) {
		text := strings.ReplaceAll("\n"+found[3], "\n"+found[1], "\n")
		blocks = append(blocks, readmeBlock{found[2], strings.TrimSpace(text)})
	}
	return blocks
}

// TestReadmeIsRun goes through the README as its reader does: every block of it, in its
// order, as it stands but for places.
func TestReadmeIsRun(t *testing.T) {
	t.Parallel()
	h := newReadmeHost(t)
	steps := []struct {
		language, begins string
		do               func(text string)
	}{
		{"sh", "scripts/quickstart ", h.scriptsAreThere},
		{"console", "== ", func(string) {}}, // TestReadmeShowsTheQuickstart
		{"sh", "go build ", h.silent},
		{"sh", "age-keygen ", h.makeKey},
		{"sh", "createdb ", h.silent},
		{"ini", "[heyaira-ledger]", h.writeServices},
		{"yaml", "environment: ", h.writeConfig},
		{"sh", "heyaira-loop migrate", h.goRound},
		{"sh", "heyaira-loop restore ", h.restore},
		{"sh", "createdb -T template0 scratch", h.restoreByHand},
		{"cron", "PATH=", h.beat},
		{"sh", "heyaira-loop tick --scope app --now", h.silent},
		{"", "tick ──► claim ──► run ──► verify", func(string) {}}, // a drawing
		{"", "<store>/store.json", h.compareStore},
	}
	blocks := readmeBlocks(t)
	for i, b := range blocks {
		if i == len(steps) || b.language != steps[i].language || !strings.HasPrefix(b.text, steps[i].begins) {
			t.Fatalf("README.md: block %d is not known here:\n%s", i+1, b.text)
		}
		steps[i].do(b.text)
	}
	if len(blocks) != len(steps) {
		t.Fatalf("README.md has %d blocks, want %d", len(blocks), len(steps))
	}
	// What it tells to type in the middle of a sentence.
	for _, span := range regexp.MustCompile("`(heyaira-loop [a-z][^`]*)`").FindAllStringSubmatch(readText(t, "README.md"), -1) {
		h.sh(h.folder, span[1])
	}
}

// scriptsAreThere does not run them: scripts/test runs this test and scripts/quickstart.
func (h *readmeHost) scriptsAreThere(text string) {
	for line := range strings.Lines(text) {
		info, err := os.Stat(filepath.Join("..", strings.Fields(line)[0]))
		if err != nil || info.Mode()&0o111 == 0 {
			h.t.Errorf("README.md: %s: %v, want a file that can be executed", line, err)
		}
	}
}

func (h *readmeHost) makeKey(text string) {
	out := h.says(text, `^Public key: age1`)
	h.place(readmeMatch(h.t, `recipients: \[(age1\w+)\]`), strings.TrimSpace(strings.TrimPrefix(out, "Public key: ")))
}

// writeServices reads the file as it stands too. The service that the README tells of
// in words is its reader's to write.
func (h *readmeHost) writeServices(text string) {
	path := h.write("home/.pg_service.conf", text)
	for service, host := range map[string]string{"heyaira-ledger": "ledger.example.org", "app-prod": "app.example.org"} {
		if got, err := pgconn.ParseConfig("servicefile=" + path + " service=" + service); err != nil || got.Host != host {
			h.t.Errorf("README.md: service %s: %+v, %v", service, got, err)
		}
	}
	h.write("home/.pg_service.conf", h.placed(text)+"\n\n[scratch]\nhost="+h.ledger.Socket+"\ndbname=restored\nuser=heyaira")
}

// writeConfig reads the file as it stands too.
func (h *readmeHost) writeConfig(text string) {
	for _, text := range []string{text, h.placed(text)} {
		c, err := config.Load(h.write("config.yaml", text))
		if err != nil || c.Ledger.Service != "heyaira-ledger" || c.Backups["app"].Service != "app-prod" {
			h.t.Fatalf("README.md: configuration\n%s\nread as %+v, %v", text, c, err)
		}
	}
}

func (h *readmeHost) goRound(text string) {
	h.says(text, `(?m)\Aledger is at schema version .*\nSCOPE .*\napp +idle .*\n\z`)
}

func (h *readmeHost) restore(text string) {
	h.says(text, `(?m)\ABACKUP .*\n.* verified +hash .*\nrestored backup .* of app, .*: 1 tables, .*\n\z`)
	h.sameRows("restored")
}

// restoreByHand works in the folder of the one backup that there is.
func (h *readmeHost) restoreByHand(text string) {
	found, err := filepath.Glob(filepath.Join(h.folder, "store/app/*/*/*/manifest.json"))
	if err != nil || len(found) != 1 {
		h.t.Fatalf("find manifest: %v, %v", found, err)
	}
	if out := h.sh(filepath.Dir(found[0]), text); out != "" {
		h.t.Errorf("README.md: %s\nsays\n%s", text, out)
	}
	h.sameRows("scratch")

	manifest, err := os.ReadFile(found[0])
	if err != nil {
		h.t.Fatal(err)
	}
	_, line, _ := strings.Cut(text, "\n")
	line = strings.NewReplacer("app.key", "KEY", "scratch", "DATABASE").Replace(line)
	if !strings.Contains(string(manifest), `"`+line+`"`) {
		h.t.Errorf("%s does not carry the line %s", found[0], line)
	}
}

// sameRows compares what was restored with what is protected.
func (h *readmeHost) sameRows(dbname string) {
	h.t.Helper()
	rows := func(server *pgtest.Server, dbname string) (text string) {
		conn := pgtest.Connect(h.t, server.Conninfo(dbname))
		if err := conn.QueryRow(h.t.Context(), "SELECT string_agg(n::text, ' ' ORDER BY n.id) FROM shop.note AS n").Scan(&text); err != nil {
			h.t.Fatal(err)
		}
		return text
	}
	if got, want := rows(h.ledger, dbname), rows(h.app, "app"); got != want {
		h.t.Errorf("%s holds\n%s, want\n%s", dbname, got, want)
	}
}

// beat runs each line of the crontab on an idle host, as cron does: five fields of time,
// a user, and the rest for a shell that knows little more than PATH.
func (h *readmeHost) beat(text string) {
	lines := strings.Split(h.placed(text), "\n")
	for _, line := range lines[1:] {
		entry := regexp.MustCompile(`^(?:[\d*/,-]+ +){5}\w+ +(heyaira-loop .*)$`).FindStringSubmatch(line)
		if entry == nil {
			h.t.Fatalf("README.md: no line of a crontab: %s", line)
		}
		if out := h.dash(h.folder, entry[1], lines[0]); out != "" {
			h.t.Errorf("README.md: %s\nsays\n%s", line, out)
		}
	}
	h.says("heyaira-loop status", `(?m)^app +idle `)
}

// compareStore finds each place of the README's tree in the store, and each file of the
// store in the tree.
func (h *readmeHost) compareStore(text string) {
	store := filepath.Join(h.folder, "store")
	told := strings.NewReplacer("<store>", store, "/2026/11/", "/*/*/", "<backup>", "*")
	var known []string
	for line := range strings.Lines(text) {
		found, err := filepath.Glob(told.Replace(strings.Fields(line)[0]))
		if err != nil || len(found) == 0 {
			h.t.Errorf("README.md: the store has no %s", line)
		}
		known = append(known, found...)
	}
	err := filepath.WalkDir(store, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !slices.Contains(known, path) {
			h.t.Errorf("README.md does not tell of %s in the store", path)
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}
