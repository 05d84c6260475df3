package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// patience bounds each wait for a server on a busy machine.
const patience = 2 * time.Minute

// Server is a private PostgreSQL server on a Unix socket.
type Server struct {
	Socket string // folder of the socket: the host of a conninfo
	Port   int
	Data   string // data directory
	Bin    string // folder of the server's programs

	tb       testing.TB // nil for the shared server, which no test may stop
	folder   *folder
	settings []string
	running  *process
	template struct {
		once sync.Once
		name string
		err  error
	}
}

// NewServer starts a server for one test: for tests that restart it, or that assert
// that nothing changes. Settings are name=value and win over the defaults. It is
// stopped and removed when the test ends.
func NewServer(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := newServer(settings)
	if err != nil {
		t.Fatalf("start server: %v", err)
	}
	s.tb = t
	t.Cleanup(func() {
		if keep() {
			t.Logf("server kept: %s", s.Conninfo("postgres"))
			return
		}
		s.remove()
	})
	return s
}

// Conninfo names a database of the server.
func (s *Server) Conninfo(dbname string) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s", s.Socket, s.Port, dbname)
}

// Stop ends the server: "fast" is an orderly shutdown, "immediate" a crash. It
// returns when the server is gone.
func (s *Server) Stop(mode string) {
	s.tb.Helper()
	if err := s.stop(mode); err != nil {
		s.tb.Fatalf("stop server: %v", err)
	}
}

// Start starts a stopped server on its old data and returns when it answers.
func (s *Server) Start() {
	s.tb.Helper()
	if err := s.start(); err != nil {
		s.tb.Fatalf("start server: %v", err)
	}
}

// Exec runs SQL in one of the server's databases.
func (s *Server) Exec(dbname, sql string, args ...any) {
	s.tb.Helper()
	Exec(s.tb, s.Conninfo(dbname), sql, args...)
}

func keep() bool { return os.Getenv("HEYAIRA_TEST_KEEP") == "1" }

func newServer(settings []string) (*Server, error) {
	bin, err := findBin()
	if err != nil {
		return nil, err
	}
	who, err := account()
	if err != nil {
		return nil, err
	}
	f, err := newFolder(who)
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: f.path, Port: 5432, Data: filepath.Join(f.path, "data"), Bin: bin, folder: f, settings: settings}
	initdb := s.command("initdb", "--pgdata", s.Data, "--no-sync", "--auth=trust", "--username=postgres",
		"--encoding=UTF8", "--locale=C.UTF-8")
	if out, err := initdb.CombinedOutput(); err != nil {
		f.remove()
		return nil, fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	if err := s.start(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.Bin, name), args...)
	cmd.Dir = s.Socket
	cmd.Env = environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.folder.who}
	return cmd
}

func (s *Server) start() error {
	if s.running != nil {
		return errors.New("it is running")
	}
	args := []string{"-D", s.Data, "-k", s.Socket, "-p", fmt.Sprint(s.Port)}
	// The ledger refuses synchronous_commit off; without fsync it costs nothing.
	defaults := []string{"listen_addresses=", "fsync=off", "full_page_writes=off", "shared_buffers=64MB",
		"max_connections=200", "timezone=UTC", "log_line_prefix=%m [%p] %a %d: "}
	for _, setting := range append(defaults, s.settings...) {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	cmd := s.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if s.running, err = launch(cmd, keep()); err != nil {
		return err
	}
	return s.await()
}

// await returns when the server answers. It has no event to wait on: the server
// tells nobody but its log that it is ready.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgconn.Connect(ctx, s.Conninfo("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.running.ended:
			s.running = nil
			return fmt.Errorf("it ended at once: %s", s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", patience, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) stop(mode string) error {
	signals := map[string]os.Signal{"fast": syscall.SIGINT, "immediate": syscall.SIGQUIT}
	sig, ok := signals[mode]
	if !ok {
		return fmt.Errorf("unknown mode %q", mode)
	}
	if s.running == nil {
		return errors.New("it is not running")
	}
	defer func() { s.running = nil }()
	s.running.signal(sig)
	select {
	case <-s.running.ended:
		return nil
	case <-time.After(patience):
		s.running.signal(syscall.SIGKILL)
		<-s.running.ended
		return fmt.Errorf("still running %s after %s shutdown: %s", patience, mode, s.logTail())
	}
}

// remove ends the server and deletes its folder; nobody needs the data any more.
func (s *Server) remove() {
	if s.running != nil {
		_ = s.stop("immediate")
	}
	s.folder.remove()
}

func (s *Server) logPath() string { return filepath.Join(s.Socket, "log") }

func (s *Server) logTail() []byte {
	log, err := os.ReadFile(s.logPath())
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(log[max(0, len(log)-2048):])
}
