package pgtest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is this process's one server for all tests that need no other. It is
// state of the package because the functions that tests call have no receiver that
// outlives a test.
var shared cell

type cell struct {
	once   sync.Once
	server *Server
	err    error
}

func (c *cell) get(t testing.TB) *Server {
	t.Helper()
	c.once.Do(func() { c.server, c.err = newServer(nil) })
	if c.err != nil {
		t.Fatalf("start shared server: %v", c.err)
	}
	return c.server
}

// Main runs a package's tests and then removes the shared server. Use it in
// TestMain; without it the server still ends with the process, but its folder stays
// until another test sweeps it.
func Main(m *testing.M) int {
	status := m.Run()
	if s := shared.server; s != nil {
		if keep() {
			fmt.Fprintf(os.Stderr, "server kept: %s\n", s.Conninfo("postgres"))
		} else {
			s.remove()
		}
	}
	return status
}
