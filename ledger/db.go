package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
)

// Protocol is what this program speaks to a ledger. A ledger whose min_program is
// higher refuses it.
const Protocol = 1

// connectTimeout ends an attempt to connect where the conninfo says nothing of it.
const connectTimeout = 10 * time.Second

// Options say which ledger to open, and who asks.
type Options struct {
	Conninfo    string
	Environment string
	Command     string // of this program, for application_name
	Host        string
	Program     string // version of this program
	Log         zerolog.Logger
}

// DB is a ledger over one connection, made when the first statement needs it. It is
// safe for concurrent use: statements take turns.
type DB struct {
	options Options
	turn    chan struct{} // holds one token while a statement runs
	conn    *pgx.Conn     // nil until needed, and after it broke
}

// Open prepares a ledger; it connects with the first statement.
func Open(o Options) *DB {
	return &DB{options: o, turn: make(chan struct{}, 1)}
}

// Close ends the connection.
func (db *DB) Close(ctx context.Context) error {
	if err := db.take(ctx); err != nil {
		return err
	}
	defer db.give()
	if db.conn == nil {
		return nil
	}
	err := db.conn.Close(ctx)
	db.conn = nil
	if err != nil {
		return fmt.Errorf("close ledger: %w", err)
	}
	return nil
}

// Connect makes a connection as a DB does, for what is not a statement of the
// ledger (migrate). Its errors are those of every method of DB.
func Connect(ctx context.Context, o Options) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(o.Conninfo)
	if err != nil {
		return nil, parseError(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.StatementCacheCapacity = 0
	config.DescriptionCacheCapacity = 0
	config.RuntimeParams["application_name"] = "heyaira-loop/" + o.Command + "/" + o.Host
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explain(ctx, "connect", err)
	}
	return conn, nil
}
