package backup

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/heyaira/heyaira-loop/internal/proc"
	"github.com/heyaira/heyaira-loop/lease"
)

// tableLockWait bounds how long pg_dump waits for a table that a migration holds,
// in milliseconds: whoever waits behind the dump's own request waits as well.
const tableLockWait = "30000"

// dump starts pg_dump on the snapshot and answers its archive (custom format, not
// compressed). A pg_dump that failed is a read error, so the end of the stream means
// that it exited 0. Passwords reach it through the service and PGPASSFILE only. Read
// to the end or close; the snapshot has to stay open until then.
func (s *snapshot) dump(ctx context.Context, bin string, extra ...string) (io.ReadCloser, error) {
	args := []string{
		"--format=custom", "--compress=0", "--no-password",
		"--snapshot=" + s.ID,
		"--lock-wait-timeout=" + tableLockWait,
		"--dbname=" + s.where.conninfo(),
	}
	stream, err := proc.Stream(ctx, proc.Command{
		Name: "pg_dump",
		Path: bin,
		Args: append(args, extra...),
		Env:  libpqEnvironment(),
	})
	if err != nil {
		return nil, err
	}
	return &dumpStream{stream}, nil
}

// libpqEnvironment passes on where libpq's files lie and how it secures a connection,
// and makes it speak English so that a failure can be classed.
func libpqEnvironment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{
		"PGSERVICEFILE", "PGPASSFILE", "PGSYSCONFDIR",
		"PGSSLMODE", "PGSSLNEGOTIATION", "PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT", "PGSSLCRL", "PGSSLCRLDIR",
		"PGCHANNELBINDING", "PGREQUIREAUTH",
	} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// dumpStream gives a failed pg_dump its class.
type dumpStream struct{ io.ReadCloser }

func (d *dumpStream) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = dumpError(err)
	}
	return n, err
}

// dumpError reads what pg_dump said last. Refused access is blocked: no retry mends
// it, and no failure of the database is counted for it.
func dumpError(err error) error {
	var exit *proc.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	for _, known := range []struct{ text, hint string }{
		{"permission denied", "GRANT pg_read_all_data TO the role of the service; large objects need their owner or a superuser"},
		{"row-level security", "ALTER ROLE … BYPASSRLS for the role of the service: a dump must see every row"},
		{"authentication failed", "check the service's password or PGPASSFILE"},
		{"no password supplied", "put the password into PGPASSFILE or the service file; PGPASSWORD is not passed on"},
		{"no pg_hba.conf entry", "let pg_hba.conf admit the role of the service from this host"},
		{"server version mismatch", "install the client of the server's version, or name its folder as pg_bin"},
	} {
		if strings.Contains(exit.Tail, known.text) {
			return lease.WithClass(lease.Blocked, advise(err, known.hint))
		}
	}
	return err
}
