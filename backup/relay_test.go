package backup

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
)

// relay stands between a client and a server and looks on: it counts turns, and can
// name another process in the handshake, as a pooler does.
type relay struct {
	socket string // folder of its own socket, the host of a conninfo
	turns  atomic.Int64
	pooled bool
}

func newRelay(t testing.TB, server *pgtest.Server, pooled bool) *relay {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "relay")
	if err != nil {
		t.Fatalf("make folder: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &relay{socket: dir, pooled: pooled}
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { listener.Close() })
	upstream := filepath.Join(server.Socket, ".s.PGSQL.5432")
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(client, upstream)
		}
	}()
	return r
}

func (r *relay) serve(client net.Conn, upstream string) {
	defer client.Close()
	server, err := net.Dial("unix", upstream)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { r.forward(client, server); server.Close() })
	both.Go(func() { r.answer(server, client); client.Close() })
	both.Wait()
}

// forward moves the client's messages; the first has no type.
func (r *relay) forward(client io.Reader, server io.Writer) {
	for startup := true; ; startup = false {
		message, err := readMessage(client, !startup)
		if err != nil {
			return
		}
		if !startup && (message[0] == 'S' || message[0] == 'Q') { // Sync, Query: a turn ends
			r.turns.Add(1)
		}
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

func (r *relay) answer(server io.Reader, client io.Writer) {
	for {
		message, err := readMessage(server, true)
		if err != nil {
			return
		}
		if message[0] == 'K' && r.pooled { // BackendKeyData
			pid := message[5:9]
			binary.BigEndian.PutUint32(pid, binary.BigEndian.Uint32(pid)+1)
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}

func readMessage(from io.Reader, typed bool) ([]byte, error) {
	var message bytes.Buffer
	head := 4
	if typed {
		head = 5
	}
	if _, err := io.CopyN(&message, from, int64(head)); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(message.Bytes()[head-4:])
	_, err := io.CopyN(&message, from, int64(size)-4)
	return message.Bytes(), err
}
