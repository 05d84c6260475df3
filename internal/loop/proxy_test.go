package loop

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// proxy stands between a ledger's server and its clients. It counts turns, which are
// the client's Sync messages, and can be cut.
type proxy struct {
	server string // path of the server's socket

	mu    sync.Mutex
	turns int
	down  bool
	conns map[net.Conn]bool
}

// proxied puts a proxy before the ledger.
func (l *lab) proxied() *proxy {
	l.t.Helper()
	folder, err := os.MkdirTemp("/tmp", "pg") // a socket's path is short
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { os.RemoveAll(folder) })
	var host, port string
	for _, part := range strings.Fields(l.conninfo) {
		if value, ok := strings.CutPrefix(part, "host="); ok {
			host = value
		}
		if value, ok := strings.CutPrefix(part, "port="); ok {
			port = value
		}
	}
	p := &proxy{server: filepath.Join(host, ".s.PGSQL."+port), conns: map[net.Conn]bool{}}
	listener, err := net.Listen("unix", filepath.Join(folder, ".s.PGSQL."+port))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { listener.Close(); p.cut() })
	l.conninfo = strings.Replace(l.conninfo, "host="+host, "host="+folder, 1)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.down {
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	go func() { _, _ = io.Copy(client, server); client.Close() }()
	first := true
	for {
		message, err := readMessage(client, first)
		if err != nil {
			return
		}
		if !first && (message[0] == 'S' || message[0] == 'Q') {
			p.mu.Lock()
			p.turns++
			p.mu.Unlock()
		}
		first = false
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// readMessage reads one message of the PostgreSQL protocol; the first has no type.
func readMessage(from io.Reader, first bool) ([]byte, error) {
	head := make([]byte, 5)
	if first {
		head = head[1:]
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[len(head)-4:])
	if length < 4 || length > 1<<24 {
		return nil, errors.New("not a message")
	}
	body := make([]byte, length-4)
	_, err := io.ReadFull(from, body)
	return append(head, body...), err
}

// cut ends every connection and refuses new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for conn := range p.conns {
		conn.Close()
	}
	clear(p.conns)
}

// mend lets clients connect again.
func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// count answers the turns that act takes.
func (p *proxy) count(t testing.TB, act func()) int {
	t.Helper()
	p.mu.Lock()
	before := p.turns
	p.mu.Unlock()
	act()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns - before
}
