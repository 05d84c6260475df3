package backup

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/heyaira/heyaira-loop/lease"
)

// Not parallel: it changes the environment.
func TestPasswordFilesThatOthersCanReadAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, env, text string
		mode            os.FileMode
		refused         bool
	}{
		{"private service file", "PGSERVICEFILE", "[app]\nhost=/nowhere\npassword=c4nary\n", 0o600, false},
		{"service file of a group", "PGSERVICEFILE", "[app]\nhost=/nowhere\npassword=c4nary\n", 0o640, false},
		{"public service file", "PGSERVICEFILE", "[app]\nhost=/nowhere\n", 0o644, false},
		{"public service file with a password", "PGSERVICEFILE", "[app]\nhost=/nowhere\n password = c4nary\n", 0o644, true},
		{"private password file", "PGPASSFILE", "*:*:*:*:c4nary\n", 0o600, false},
		{"password file of a group", "PGPASSFILE", "*:*:*:*:c4nary\n", 0o640, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "file", c.text)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatalf("chmod: %v", err)
			}
			t.Setenv("PGSERVICEFILE", write(t, "service", "[app]\nhost=/nowhere\n"))
			t.Setenv(c.env, path)
			_, err := sourceConfig("app")
			if refused := err != nil; refused != c.refused {
				t.Fatalf("sourceConfig = %v, want refused %t", err, c.refused)
			}
			if c.refused && (lease.ClassOf(err) != lease.Blocked || !strings.Contains(hintOf(err), "chmod 600") || strings.Contains(err.Error(), "c4nary")) {
				t.Errorf("sourceConfig = %v (%s, hint %q), want blocked, how to mend it, no password", err, lease.ClassOf(err), hintOf(err))
			}
		})
	}
}

func TestConninfoIsQuotedAndReadBack(t *testing.T) {
	t.Parallel()
	where := endpoint{service: "app", host: "db.example", address: "127.0.0.1", port: "5433", database: "my 'db'", user: `o\p`}
	text, found := strings.CutPrefix(where.conninfo(), "service='app' ") // there is no such service here
	if !found {
		t.Fatalf("conninfo = %s, want the service first", text)
	}
	config, err := pgconn.ParseConfig(text)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	if config.Host != where.host || config.Port != 5433 || config.Database != where.database || config.User != where.user || config.RuntimeParams["hostaddr"] != where.address {
		t.Errorf("conninfo %s is read as host %s, port %d, database %s, user %s", text, config.Host, config.Port, config.Database, config.User)
	}
}
