package pgtest

import (
	"testing"
)

func TestDatabaseIsFreshAndEmpty(t *testing.T) {
	t.Parallel()
	one, two := Database(t), Database(t)
	Exec(t, one, "CREATE TABLE mark (); CREATE TABLE other ()")
	var found bool
	if err := Connect(t, two).QueryRow(t.Context(), "SELECT to_regclass('mark') IS NOT NULL").Scan(&found); err != nil {
		t.Fatal(err)
	}
	if found {
		t.Error("a table of one database stands in the other")
	}
}

func TestServerSurvivesStopAndCrash(t *testing.T) {
	t.Parallel()
	s := NewServer(t, "autovacuum=off")
	s.Exec("postgres", "CREATE TABLE mark AS SELECT 1 AS n")
	for _, mode := range []string{"fast", "immediate"} {
		s.Stop(mode)
		s.Start()
		var n int
		if err := Connect(t, s.Conninfo("postgres")).QueryRow(t.Context(), "SELECT n FROM mark").Scan(&n); err != nil || n != 1 {
			t.Errorf("after %s: got %d, %v", mode, n, err)
		}
	}
}

func TestLedgerIsMigratedAndKnowsItself(t *testing.T) {
	t.Parallel()
	one, two := Ledger(t), Ledger(t)
	for _, conninfo := range []string{one, two} {
		var environment string
		var itself bool
		if err := Connect(t, conninfo).QueryRow(t.Context(), `
			SELECT environment, database_oid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
			FROM heyaira_loop.ledger_identity`).Scan(&environment, &itself); err != nil {
			t.Fatal(err)
		}
		if environment != "test" || !itself {
			t.Errorf("got environment %q, own oid %v", environment, itself)
		}
	}
}
