package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/migrations"
)

// environment is the label of every ledger in tests.
const environment = "test"

// Ledger answers the conninfo of a fresh migrated ledger of environment "test" on
// the shared server. It is dropped when the test ends.
func Ledger(t testing.TB) string {
	t.Helper()
	return shared.get(t).Ledger(t)
}

// Ledger answers the conninfo of a fresh migrated ledger on this server.
func (s *Server) Ledger(t testing.TB) string {
	t.Helper()
	s.template.once.Do(func() { s.template.name, s.template.err = s.migrate() })
	if s.template.err != nil {
		t.Fatalf("migrate template: %v", s.template.err)
	}
	name := freshName("ledger")
	s.make(t, name, cloneSQL, name, s.template.name)
	conninfo := s.Conninfo(name)
	// A clone has another oid than its template and would be refused as a copy.
	if err := with(conninfo, func(ctx context.Context, conn *pgx.Conn) error {
		return migrations.Identify(ctx, conn, environment)
	}); err != nil {
		t.Fatalf("identify clone: %v", err)
	}
	return conninfo
}

// migrate makes the database that ledgers are cloned from. Nobody stays connected
// to it: that would make cloning fail.
func (s *Server) migrate() (string, error) {
	name := freshName("template")
	if err := s.written(createSQL, name); err != nil {
		return "", err
	}
	return name, with(s.Conninfo(name), func(ctx context.Context, conn *pgx.Conn) error {
		_, _, err := migrations.Apply(ctx, conn, environment)
		return err
	})
}

// with runs act on a connection of its own, which is gone when it returns.
func with(conninfo string, act func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, conninfo)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	return act(ctx, conn)
}
