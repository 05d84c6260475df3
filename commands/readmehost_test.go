package commands

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

// readmeHost is the machine that the README's commands are run on, and the two servers
// that it speaks of.
type readmeHost struct {
	t           *testing.T
	folder      string
	app, ledger *pgtest.Server
	env         []string
	places      [][2]string // what of the README cannot be had here, and what stands for it
}

func newReadmeHost(t *testing.T) *readmeHost {
	h := &readmeHost{t: t, folder: t.TempDir(), app: pgtest.NewServer(t), ledger: pgtest.NewServer(t)}
	// The configuration must not be open to others, whatever the umask.
	if err := os.Chmod(h.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "home", "store"} {
		if err := os.Mkdir(filepath.Join(h.folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.env = []string{
		"HOME=" + filepath.Join(h.folder, "home"),
		"PGSERVICEFILE=" + filepath.Join(h.folder, "home/.pg_service.conf"),
		"HEYAIRA_CONFIG=" + filepath.Join(h.folder, "config.yaml"),
	}
	program, err := exec.LookPath("heyaira-loop")
	if err != nil {
		t.Fatal(err)
	}
	h.place("go build -o heyaira-loop .", "ln -s "+program+" heyaira-loop")
	h.place("sudo install", "install")
	h.place("/usr/local/bin", filepath.Join(h.folder, "bin"))
	h.place("/var/lib/heyaira-loop/store", filepath.Join(h.folder, "store"))
	h.place("host=app.example.org", "host="+h.app.Socket)
	h.place("host=ledger.example.org", "host="+h.ledger.Socket)
	h.place("age -d -i app.key", "age -d -i "+filepath.Join(h.folder, "app.key"))

	// The roles of the README, with no more rights than it gives them.
	h.ledger.Exec("postgres", "CREATE ROLE heyaira LOGIN CREATEDB")
	h.app.Exec("postgres", "CREATE ROLE heyaira LOGIN; CREATE ROLE backup LOGIN")
	h.app.Exec("postgres", "CREATE DATABASE app OWNER heyaira")
	h.app.Exec("app", readmeMatch(t, "`(GRANT .*?)`"))
	h.app.Exec("app", "SET ROLE heyaira; CREATE SCHEMA shop; CREATE TABLE shop.note (id integer PRIMARY KEY, words text NOT NULL); INSERT INTO shop.note SELECT n, 'note ' || n FROM generate_series(1, 1000) AS n")
	return h
}

// place notes what stands for a place of the README; one that is not in it has changed.
func (h *readmeHost) place(says, here string) {
	h.t.Helper()
	if !strings.Contains(readText(h.t, "README.md"), says) {
		h.t.Fatalf("README.md does not say %s", says)
	}
	h.places = append(h.places, [2]string{says, here})
}

func (h *readmeHost) placed(text string) string {
	for _, p := range h.places {
		text = strings.ReplaceAll(text, p[0], p[1])
	}
	return text
}

// sh runs commands where PostgreSQL's programs find the ledger's server, and answers
// what they print.
func (h *readmeHost) sh(folder, text string) string {
	h.t.Helper()
	return h.dash(folder, text, "PATH="+h.placed("/usr/local/bin:/usr/bin:/bin"), "PGHOST="+h.ledger.Socket, "PGUSER=heyaira")
}

func (h *readmeHost) dash(folder, text string, env ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "dash", "-euc", h.placed(text))
	shell.Dir, shell.Env, shell.WaitDelay = folder, append(env, h.env...), time.Second
	out, err := shell.CombinedOutput()
	if err != nil {
		h.t.Fatalf("README.md: %s\n%v\n%s", text, err, out)
	}
	return string(out)
}

func (h *readmeHost) silent(text string) {
	h.t.Helper()
	if out := h.sh(h.folder, text); out != "" {
		h.t.Errorf("README.md: %s\nsays\n%s", text, out)
	}
}

func (h *readmeHost) says(text, pattern string) string {
	h.t.Helper()
	out := h.sh(h.folder, text)
	if !regexp.MustCompile(pattern).MatchString(out) {
		h.t.Errorf("README.md: %s\nsays\n%swant %s", text, out, pattern)
	}
	return out
}

func (h *readmeHost) write(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.folder, name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}
