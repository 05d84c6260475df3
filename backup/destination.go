package backup

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

var (
	//go:embed queries/target.sql
	targetSQL string
	//go:embed queries/occupied.sql
	occupiedSQL string
	//go:embed queries/lacking.sql
	lackingSQL string
	//go:embed queries/tables.sql
	tablesSQL string
)

// connectLimit bounds one try to reach a target's server that its conninfo does not bound.
const connectLimit = 10 * time.Second

// destination is the database that a restore writes into.
type destination struct {
	conninfo string // as it was given
	config   *pgx.ConnConfig
	database string
}

// destinationFacts are what its server tells.
type destinationFacts struct {
	Version          int
	Database         string
	Role             string
	Template         bool
	ReadOnly         bool
	SystemIdentifier string // "" where the role may not ask
}

// readDestination reads a conninfo. One with a password is refused: pg_restore would show it
// to everyone on the machine. No error repeats it.
func readDestination(conninfo string) (*destination, error) {
	config, err := pgx.ParseConfig(conninfo)
	if err != nil {
		cause := err
		if inner := errors.Unwrap(err); inner != nil {
			cause = inner
		}
		return nil, fmt.Errorf("read target's conninfo: %w", cause)
	}
	if holdsPassword(conninfo) {
		return nil, advise(errors.New("read target's conninfo: it holds a password"), "put the password into PGPASSFILE or a service file")
	}
	if err := checkSecrets(); err != nil {
		return nil, err
	}
	for _, other := range config.Fallbacks {
		if other.Host != config.Host || other.Port != config.Port {
			return nil, errors.New("read target's conninfo: it names several servers")
		}
	}
	if config.Database == "" {
		config.Database = config.User
	}
	forgetLibpqOnly(config)
	if config.RuntimeParams["hostaddr"] != "" {
		return nil, advise(errors.New("read target's conninfo: hostaddr is not supported"), "name the address as host")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectLimit
	}
	config.RuntimeParams["application_name"] = "heyaira-loop/restore"
	config.RuntimeParams["search_path"] = "pg_catalog"
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity = 0
	config.DescriptionCacheCapacity = 0
	return &destination{conninfo: conninfo, config: config, database: config.Database}, nil
}

// holdsPassword tells whether a conninfo says a password itself.
func holdsPassword(conninfo string) bool {
	if address, err := url.Parse(conninfo); err == nil && isURL(conninfo) {
		_, in := address.User.Password()
		return in || address.Query().Has("password")
	}
	return regexp.MustCompile(`(?i)(^|\s)password\s*=`).MatchString(conninfo)
}

func isURL(conninfo string) bool {
	return strings.HasPrefix(conninfo, "postgres://") || strings.HasPrefix(conninfo, "postgresql://")
}

// connect opens a connection to the target's server; database "" is the target itself.
func (d *destination) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config := d.config.Copy()
	if database != "" {
		config.Database = database
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, targetError(ctx, "connect to target "+config.Database, err)
	}
	return conn, nil
}

// child is the conninfo for pg_restore: what was given, and the server that conn leads
// to, so that the restore goes where emptiness was proven.
func (d *destination) child(conn *pgx.Conn) string {
	text := d.conninfo + " "
	if address, err := url.Parse(d.conninfo); err == nil && isURL(d.conninfo) {
		text = ""
		for key, values := range address.Query() {
			text += keyValue(key, values[0])
		}
	}
	text += keyValue("host", d.config.Host)
	if remote, ok := conn.PgConn().Conn().RemoteAddr().(*net.TCPAddr); ok {
		text += keyValue("hostaddr", remote.IP.String())
	}
	text += keyValue("port", fmt.Sprint(d.config.Port)) + keyValue("user", d.config.User) + keyValue("dbname", d.database)
	return strings.TrimSpace(text)
}

// facts asks the server about the database that conn leads to.
func facts(ctx context.Context, conn *pgx.Conn) (destinationFacts, error) {
	var f destinationFacts
	err := conn.QueryRow(ctx, targetSQL).Scan(&f.Version, &f.Database, &f.Role, &f.Template, &f.ReadOnly, &f.SystemIdentifier)
	if err != nil {
		return destinationFacts{}, targetError(ctx, "ask target", err)
	}
	return f, nil
}

// empty refuses a database that holds anything.
func empty(ctx context.Context, conn *pgx.Conn, database string) error {
	rows, err := conn.Query(ctx, occupiedSQL)
	if err != nil {
		return targetError(ctx, "look into target", err)
	}
	var found []string
	var kind, name string
	var total int
	if _, err := pgx.ForEachRow(rows, []any{&kind, &name, &total}, func() error {
		found = append(found, kind+" "+name)
		return nil
	}); err != nil {
		return targetError(ctx, "look into target", err)
	}
	if len(found) == 0 {
		return nil
	}
	return advise(fmt.Errorf("restore into %s: it is not empty: %s, %d in all", database, strings.Join(found, ", "), total),
		"restore into a new database: --create makes it")
}

// targetError says in the server's words what went wrong there.
func targetError(ctx context.Context, verb string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", verb, cause)
	}
	if errors.Is(err, ledger.ErrUnreachable) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		err := fmt.Errorf("%s: %s (SQLSTATE %s)", verb, pg.Message, pg.Code)
		if pg.Code == "3D000" {
			return advise(err, "--create makes it")
		}
		return err
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		err = connect.Unwrap() // without user and database, in several lines
	}
	return unreachable(fmt.Sprintf("%s: %s", verb, strings.Join(strings.Fields(err.Error()), " ")),
		"is the target's server up, and does the conninfo name it?", lease.WithClass(lease.Transient, err))
}
