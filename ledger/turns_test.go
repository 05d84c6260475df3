package ledger_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

// meter stands between a program and its server and counts how often the program
// speaks after the server did: the round trips.
type meter struct {
	mu     sync.Mutex
	turns  int
	asking bool
	ways   []net.Conn
}

// newMeter answers the meter and the conninfo that leads through it.
func newMeter(t *testing.T, conninfo string) (*meter, string) {
	t.Helper()
	config := pgtest.Connect(t, conninfo).Config()
	server := filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port))
	folder := t.TempDir()
	if len(folder) > 80 { // the bound of a socket's path
		t.Fatalf("folder %s is too long for a socket", folder)
	}
	listener, err := net.Listen("unix", filepath.Join(folder, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{}
	t.Cleanup(func() { _ = listener.Close(); m.cut() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("unix", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			m.mu.Lock()
			m.ways = append(m.ways, client, back)
			m.mu.Unlock()
			go m.carry(back, client, true)
			go m.carry(client, back, false)
		}
	}()
	return m, fmt.Sprintf("host=%s port=5432 user=%s dbname=%s", folder, config.User, config.Database)
}

func (m *meter) carry(to, from net.Conn, asking bool) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			m.mu.Lock()
			if asking && !m.asking {
				m.turns++
			}
			m.asking = asking
			m.mu.Unlock()
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				return
			}
			return
		}
	}
}

// cut ends every connection, as a server that is shut down does.
func (m *meter) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, way := range m.ways {
		_ = way.Close()
	}
	m.ways = nil
}

// taken is how many turns act takes.
func (m *meter) taken(t *testing.T, act func() error) int {
	t.Helper()
	m.mu.Lock()
	before := m.turns
	m.mu.Unlock()
	if err := act(); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.turns - before
}

// The budget of round trips. An idle tick asks once, and beats once.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true}}, "app")
	m, conninfo := newMeter(t, l.conninfo)
	db := ledger.Open(ledger.Options{Conninfo: conninfo, Environment: "test", Command: "tick", Host: "h1", Log: zerolog.Nop()})
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	var ticket lease.Serial
	connected := m.taken(t, func() (err error) {
		ticket, _, err = db.Ticket(t.Context())
		return err
	})
	if connected != 2 { // the start of the session, and the statement
		t.Errorf("the first statement took %d turns", connected)
	}
	pairs := []ledger.Pair{{WorkType: backups, Scope: "app"}}
	for range 1000 {
		pairs = append(pairs, ledger.Pair{WorkType: backups, Scope: "unknown"})
	}
	policies := []ledger.Policy{{WorkType: backups, Coalesces: true}}
	for _, step := range []struct {
		name string
		act  func() error
	}{
		{"heads", func() error { _, err := db.Heads(t.Context(), pairs[:1]); return err }},
		{"heads of 1,001 scopes", func() error { _, err := db.Heads(t.Context(), pairs); return err }},
		{"beat", func() error {
			return db.Beat(t.Context(), "h1", "v1", []ledger.Look{{WorkType: backups, Scope: "app"}}, time.Second)
		}},
		{"ensure", func() error { _, err := db.Ensure(t.Context(), ticket, []ledger.Observation{saw("a")}); return err }},
		{"register", func() error { return db.Register(t.Context(), "h1", policies, nil, "digest") }},
		{"claim", func() error {
			_, err := db.Claim(t.Context(), lease.Request{Scopes: map[string][]string{backups: {"app"}}, Limit: 1, Owner: lease.NewOwner("h1")})
			return err
		}},
		{"identity", func() error { _, err := db.Identity(t.Context()); return err }},
		{"status", func() error { _, err := db.Status(t.Context(), ledger.StatusQuery{}); return err }},
	} {
		if got := m.taken(t, step.act); got != 1 {
			t.Errorf("%s took %d turns", step.name, got)
		}
	}
}

// A connection that broke between two statements costs nobody anything; one that is gone
// for good is said to be unreachable.
func TestConnectionThatBroke(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m, conninfo := newMeter(t, l.conninfo)
	db := ledger.Open(ledger.Options{Conninfo: conninfo, Environment: "test", Command: "tick", Host: "h1", Log: zerolog.Nop()})
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	for range 3 {
		if _, err := db.Heads(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		m.cut()
	}
	if _, _, err := db.Ticket(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.sql(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'heyaira-loop/tick/h1' AND datname = current_database()")
	if _, _, err := db.Ticket(t.Context()); err != nil {
		t.Errorf("after its session was ended: %v", err)
	}
}
