package backup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/heyaira/heyaira-loop/lease"
)

// The limits of a connection to a protected database, in milliseconds. The marker's
// sequence part waits for locks; it is read again without it after lockWait.
const (
	lockWait      = "2000"
	statementWait = "5000"
)

// keepAlive keeps a connection that is silent for the length of a dump from being
// forgotten by what lies between.
const keepAlive = 30 * time.Second

// endpoint is where a connection ended up, for a child that has to reach the same
// server: with several hosts in a service libpq would choose anew.
type endpoint struct {
	service  string
	host     string // the name as the service has it, or the folder of a Unix socket
	address  string // the IP address behind it, "" for a Unix socket
	port     string
	database string
	user     string
}

// conninfo is the endpoint for libpq. The service adds what it says beside:
// password, TLS.
func (e endpoint) conninfo() string {
	text := keyValue("service", e.service) + keyValue("host", e.host)
	if e.address != "" {
		text += keyValue("hostaddr", e.address)
	}
	return strings.TrimSpace(text + keyValue("port", e.port) + keyValue("dbname", e.database) + keyValue("user", e.user))
}

// keyValue writes one setting of a conninfo, with a space behind.
func keyValue(key, value string) string {
	return key + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "' "
}

// connectSource opens a read-only connection to the database that a libpq service
// names. Its errors name the service and hold no secret: blocked where access was
// refused, transient where the server could not be reached.
func connectSource(ctx context.Context, service string) (*pgx.Conn, endpoint, error) {
	config, err := sourceConfig(service)
	if err != nil {
		return nil, endpoint{}, err
	}
	names := map[string]string{} // of hosts, by address
	lookup := config.LookupFunc
	config.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		addresses, err := lookup(ctx, host)
		for _, address := range addresses {
			names[address] = host
		}
		return addresses, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, endpoint{}, connectError(ctx, service, err)
	}
	where := endpoint{service: service, database: config.Database, user: config.User}
	switch address := conn.PgConn().Conn().RemoteAddr().(type) {
	case *net.UnixAddr:
		where.host = filepath.Dir(address.Name)
		where.port = strings.TrimPrefix(filepath.Ext(address.Name), ".")
	case *net.TCPAddr:
		where.address = address.IP.String()
		where.host = names[where.address]
		if where.host == "" {
			where.host = where.address
		}
		where.port = strconv.Itoa(address.Port)
	}
	return conn, where, nil
}

func sourceConfig(service string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(strings.TrimSpace(keyValue("service", service)))
	if err != nil {
		cause := err
		if inner := errors.Unwrap(err); inner != nil {
			cause = inner // without the conninfo, which pgx repeats
		}
		err = fmt.Errorf("read service %s: %w", service, cause)
		return nil, lease.WithClass(lease.Blocked, advise(err, "put a section ["+service+"] into ~/.pg_service.conf, or name the file in PGSERVICEFILE"))
	}
	if err := checkSecrets(); err != nil {
		return nil, lease.WithClass(lease.Blocked, err)
	}
	forgetLibpqOnly(config)
	if config.RuntimeParams["hostaddr"] != "" {
		err := fmt.Errorf("read service %s: hostaddr is not supported", service)
		return nil, lease.WithClass(lease.Blocked, advise(err, "name the address as host"))
	}
	for name, value := range map[string]string{
		"application_name":              "heyaira-loop/backup",
		"search_path":                   "pg_catalog",
		"default_transaction_read_only": "on",
		"lock_timeout":                  lockWait,
		"statement_timeout":             statementWait,
		"jit":                           "off",
	} {
		config.RuntimeParams[name] = value
	}
	// One turn a statement, and nothing prepared stays behind on the server.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity = 0
	config.DescriptionCacheCapacity = 0
	config.DialFunc = (&net.Dialer{KeepAlive: keepAlive, Timeout: config.ConnectTimeout}).DialContext
	return config, nil
}

// forgetLibpqOnly drops what is of use to libpq only; the server would refuse it as a
// setting of its own.
func forgetLibpqOnly(config *pgx.ConnConfig) {
	for _, name := range []string{
		"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
		"fallback_application_name", "gssencmode", "sslcompression", "load_balance_hosts",
	} {
		delete(config.RuntimeParams, name)
	}
}

// checkSecrets refuses files of passwords that others can read. libpq ignores such
// a password file, so a dump would fail where its observer had succeeded.
func checkSecrets() error {
	home, _ := os.UserHomeDir()
	file := func(env, name string) string {
		if path := os.Getenv(env); path != "" || home == "" {
			return path
		}
		return filepath.Join(home, name)
	}
	if path := file("PGPASSFILE", ".pgpass"); openTo(path, 0o077) {
		return advise(fmt.Errorf("read password file %s: others can read it", path), "chmod 600 "+path)
	}
	path := file("PGSERVICEFILE", ".pg_service.conf")
	if !openTo(path, 0o004) {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read service file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if key, _, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "password" {
			return advise(fmt.Errorf("read service file %s: it holds a password and others can read it", path), "chmod 600 "+path)
		}
	}
	return nil
}

// openTo tells whether a regular file gives any of the permissions in mode.
func openTo(path string, mode os.FileMode) bool {
	info, err := os.Stat(path)
	return path != "" && err == nil && info.Mode().IsRegular() && info.Mode()&mode != 0
}

// connectError says in the server's words why there is no connection.
func connectError(ctx context.Context, service string, err error) error {
	verb := "connect to service " + service
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", verb, cause)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return serverError(verb, pg)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		err = connect.Unwrap() // without user and database, in several lines
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	return advise(fmt.Errorf("%s: %s", verb, text), "is the server up, and does the service name its host and port?")
}

// serverError gives an answer of the protected server its class. The message names
// roles and databases, never a password; the detail can hold values and is left out.
func serverError(verb string, pg *pgconn.PgError) error {
	err := fmt.Errorf("%s: %w", verb, pg)
	switch {
	case strings.HasPrefix(pg.Code, "28"):
		return lease.WithClass(lease.Blocked, advise(err, "check the role, the service's password or PGPASSFILE, and pg_hba.conf"))
	case pg.Code == "42501":
		return lease.WithClass(lease.Blocked, advise(err, "GRANT pg_read_all_data, pg_monitor TO the role of the service"))
	case pg.Code == "3D000":
		return lease.WithClass(lease.Blocked, advise(err, "does the service name the right database?"))
	case pg.Code == "08P01":
		return lease.WithClass(lease.Blocked, advise(err, "a pooler cannot be backed up: let the service lead to the server itself"))
	}
	return err
}
