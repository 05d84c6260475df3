package pgtest

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

var (
	//go:embed queries/create.sql
	createSQL string
	//go:embed queries/clone.sql
	cloneSQL string
	//go:embed queries/drop.sql
	dropSQL string
)

// Database answers the conninfo of a fresh empty database on the shared server. It
// is dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	return shared.get(t).Database(t)
}

// Database answers the conninfo of a fresh empty database on this server.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := freshName("db")
	s.make(t, name, createSQL, name)
	return s.Conninfo(name)
}

// Connect opens a connection that is closed when the test ends.
func Connect(t testing.TB, conninfo string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), conninfo)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Exec runs SQL in a database over a connection of its own. Without args it may
// be several statements.
func Exec(t testing.TB, conninfo, sql string, args ...any) {
	t.Helper()
	if err := with(conninfo, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	}); err != nil {
		t.Fatalf("exec: %v", err)
	}
}

// make creates a database by one of the statements that write a statement, and
// drops it when the test ends.
func (s *Server) make(t testing.TB, name, writer string, args ...any) {
	t.Helper()
	if err := s.written(writer, args...); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if keep() {
			t.Logf("database kept: %s", s.Conninfo(name))
			return
		}
		if s.running == nil { // a stopped server is removed as a whole
			return
		}
		if err := s.written(dropSQL, name); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
}

// written asks the server to write statements, which quotes their names, and runs them.
func (s *Server) written(writer string, args ...any) error {
	return with(s.Conninfo("postgres"), func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, writer, args...)
		if err != nil {
			return err
		}
		statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

func freshName(kind string) string {
	return kind + "_" + strings.ToLower(rand.Text()[:12])
}
