package ledger

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	tries = 3                      // of a statement that may be sent again
	pause = 200 * time.Millisecond // between them, doubled and jittered
)

//go:embed queries/*.sql
var queries embed.FS

// statement is one file of queries/ with its arguments. scan is called for each row
// of the answer with that row current; nil takes no rows. fresh, where it is given, is
// called before each attempt: what scan kept of an attempt that failed is to be dropped.
type statement struct {
	name  string
	args  []any
	scan  func(rows pgx.Rows) error
	fresh func()
}

// query sends one statement in one round trip. It is sent again only where surely
// nothing of it was sent. scan is called for each row, with that row current.
func (db *DB) query(ctx context.Context, name string, scan func(rows pgx.Rows) error, args ...any) error {
	return db.send(ctx, pgconn.SafeToRetry, statement{name: name, args: args, scan: scan})
}

// ask is query for a statement that may be sent twice, since it changes nothing or
// changes the same thing: it is sent again after any broken connection.
func (db *DB) ask(ctx context.Context, name string, scan func(rows pgx.Rows) error, args ...any) error {
	return db.send(ctx, repeatable, statement{name: name, args: args, scan: scan})
}

// repeatable is when a statement that may be sent twice is sent again.
func repeatable(err error) bool { return pgconn.SafeToRetry(err) || broken(err) }

// batch sends several statements in one round trip and one transaction; one that
// fails undoes all. It is sent again only where surely nothing of it was sent.
func (db *DB) batch(ctx context.Context, statements ...statement) error {
	return db.send(ctx, pgconn.SafeToRetry, statements...)
}

func (db *DB) send(ctx context.Context, again func(error) bool, statements ...statement) error {
	name := statements[len(statements)-1].name
	if err := db.take(ctx); err != nil {
		return explain(ctx, name, err)
	}
	defer db.give()
	wait := pause
	for try := 1; ; try++ {
		retry := broken // a connection that was not made has sent nothing
		err := db.connect(ctx)
		if err == nil {
			retry = again
			err = db.attempt(ctx, statements)
		}
		if err == nil {
			return nil
		}
		if db.conn != nil && db.conn.IsClosed() {
			db.conn = nil
		}
		var scanned *scanError
		if try == tries || ctx.Err() != nil || errors.As(err, &scanned) || !retry(err) && !undone(err) {
			return explain(ctx, name, err)
		}
		db.options.Log.Debug().Str("statement", name).Int("try", try).Msg("ledger did not take it, trying again")
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
			wait *= 2
		}
	}
}

// scanError is an error after rows were seen, or of scan itself: sending again would
// show the caller the same rows twice.
type scanError struct{ error }

func (e *scanError) Unwrap() error { return e.error }

func (db *DB) connect(ctx context.Context) error {
	if db.conn != nil {
		return nil
	}
	conn, err := Connect(ctx, db.options)
	if err != nil {
		return err
	}
	db.conn = conn
	return nil
}

func (db *DB) attempt(ctx context.Context, statements []statement) error {
	batch := &pgx.Batch{}
	for _, s := range statements {
		if s.fresh != nil {
			s.fresh()
		}
		sql, err := queries.ReadFile("queries/" + s.name + ".sql")
		if err != nil {
			return fmt.Errorf("read statement: %w", err)
		}
		if len(statements) == 1 {
			rows, err := db.conn.Query(ctx, string(sql), s.args...)
			if err != nil {
				return err
			}
			return each(rows, s.scan)
		}
		batch.Queue(string(sql), s.args...)
	}
	results := db.conn.SendBatch(ctx, batch)
	for _, s := range statements {
		rows, err := results.Query()
		if err == nil {
			err = each(rows, s.scan)
		}
		if err != nil {
			_ = results.Close() // says the same again
			return err
		}
	}
	return results.Close()
}

// each hands every row to scan and closes rows.
func each(rows pgx.Rows, scan func(rows pgx.Rows) error) error {
	defer rows.Close()
	seen := false
	for rows.Next() {
		seen = true
		if scan == nil {
			continue
		}
		if err := scan(rows); err != nil {
			return &scanError{err}
		}
	}
	if err := rows.Err(); err != nil {
		if seen {
			return &scanError{err}
		}
		return err
	}
	return nil
}

func (db *DB) take(ctx context.Context) error {
	select {
	case db.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (db *DB) give() { <-db.turn }

// undone tells whether err says that the server undid the whole transaction for the
// sake of another one; every statement and every batch is one, so any may be sent again.
func undone(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001") // deadlock, serialization
}

// broken tells whether err says that the connection went away under a statement,
// which the server may or may not have executed.
func broken(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "57P01" || pg.Code == "57P02" || pg.Code == "57P03" // shutdown, crash, starting up
	}
	var op *net.OpError
	// Of a batch pgx tells no more than that the connection is closed.
	return errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}
