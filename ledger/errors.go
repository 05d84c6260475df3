package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/heyaira/heyaira-loop/migrations"
)

// ErrRefused says that this ledger may not be used: no schema, a wrong version, a
// wrong identity, wrong settings. errors.Is finds it in every RefusedError.
var ErrRefused = migrations.ErrRefused

// RefusedError says why a ledger may not be used, and what to do about it.
type RefusedError = migrations.RefusedError

// ErrUnreachable says that the ledger could not be asked. errors.Is finds it in every
// UnreachableError.
var ErrUnreachable = errors.New("ledger unreachable")

// UnreachableError says that the ledger could not be asked; nothing is known of what
// was asked. Neither part holds a secret.
type UnreachableError struct {
	Reason string
	Hint   string
	Err    error // the cause, for errors.Is and errors.As
}

// Error is the reason.
func (e *UnreachableError) Error() string { return e.Reason }

// Unwrap is the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Is tells that target is ErrUnreachable.
func (e *UnreachableError) Is(target error) bool { return target == ErrUnreachable }

// explain gives an error of the database its meaning for a person: refused,
// unreachable, or what it was. name is the statement that was under way.
func explain(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	var refused *RefusedError
	var unreachable *UnreachableError
	var conninfo *ConninfoError
	if errors.As(err, &refused) || errors.As(err, &unreachable) || errors.As(err, &conninfo) {
		return err
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if errors.Is(cause, context.DeadlineExceeded) {
			return &UnreachableError{Reason: "ledger did not answer in time", Hint: "is the ledger's server up and not overloaded?", Err: cause}
		}
		return cause
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		if known := explainState(pg); known != nil {
			return known
		}
		return fmt.Errorf("execute statement %s: %w", name, err)
	}
	if lostConnection(err) {
		return &UnreachableError{Reason: "reach ledger: " + dialed(err), Hint: "is the ledger's server up, and does the conninfo name it?", Err: err}
	}
	return fmt.Errorf("execute statement %s: %w", name, err)
}

// explainState reads an SQLSTATE; nil where it says nothing of the ledger. The server's
// message names relations, roles and databases, never a password; its detail can hold
// values and is left out.
func explainState(pg *pgconn.PgError) error {
	switch pg.Code {
	case "42P01", "3F000", "42883", "42703": // no such table, schema, function, column
		return &RefusedError{Reason: "ledger has no schema of this program", Hint: "heyaira-loop migrate", Err: pg}
	case "42501": // insufficient privilege
		return &RefusedError{Reason: "ledger's role lacks a privilege", Hint: "let the ledger's owner run it, or grant the privilege", Err: pg}
	case "25006": // read-only transaction
		return readOnly(pg)
	case "3D000":
		return &UnreachableError{Reason: "reach ledger: " + pg.Message, Hint: "make the ledger's database: createdb -T template0 -E UTF8 NAME", Err: pg}
	case "57014", "55P03": // statement or lock timeout
		return &UnreachableError{Reason: "ledger did not answer in time", Hint: "is the ledger's server overloaded?", Err: pg}
	}
	switch pg.Code[:min(2, len(pg.Code))] {
	case "28":
		return &UnreachableError{Reason: "reach ledger: " + pg.Message, Hint: "check the role, the password file and pg_hba.conf of the ledger", Err: pg}
	case "08", "53", "57", "58":
		return &UnreachableError{Reason: "reach ledger: " + pg.Message, Hint: "see the log of the ledger's server", Err: pg}
	}
	return nil
}

func readOnly(cause error) error {
	return &RefusedError{Reason: "ledger's server is read-only", Hint: "let the ledger's conninfo name the primary", Err: cause}
}

// lostConnection tells whether err is of the way to the server and not of the server.
func lostConnection(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, pgconn.ErrConnClosed) || broken(err)
}

// dialed is the text of a connection error without what pgx puts in front: it names
// every address that was tried.
func dialed(err error) string {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		err = connect.Unwrap()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// ConninfoError says that the ledger's conninfo cannot be read: a mistake of the
// configuration. It shows nothing of the conninfo, since what cannot be read cannot be
// cleaned of passwords either.
type ConninfoError struct{ Reason string }

// Error is the reason.
func (e *ConninfoError) Error() string { return "parse ledger's conninfo: " + e.Reason }

// Hint is where to look.
func (e *ConninfoError) Hint() string {
	return "a conninfo is host=… port=… dbname=… user=…, a URL, or service=NAME of the service file"
}

func parseError(err error) error {
	text := err.Error()
	if at := strings.LastIndex(text, "`: "); at >= 0 {
		text = text[at+len("`: "):]
	}
	return &ConninfoError{text}
}
