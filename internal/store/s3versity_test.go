package store_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/internal/store/storetest"
)

// TestS3KeepsTheContractOnVersity runs the suite against a server of another make, and
// over plain HTTP, where bodies are signed. Package r2test tells how to install it.
func TestS3KeepsTheContractOnVersity(t *testing.T) {
	t.Parallel()
	program := findVersity(t)
	endpoint := startVersity(t, program)
	var subjects atomic.Int64
	storetest.Run(t, func(t testing.TB) storetest.Subject {
		s, err := store.NewS3(store.S3Options{
			Endpoint: endpoint, Bucket: "heyaira", Prefix: fmt.Sprintf("subject-%d", subjects.Add(1)), PartSize: 5 << 20,
			Keys: func() (store.Keys, error) { return store.Keys{Access: "access", Secret: "secret-secret"}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return storetest.Subject{
			Store: s,
			Leftovers: func(t testing.TB) int {
				count := 0
				for _, err := range s.Uploads(t.Context(), "") {
					if err != nil {
						t.Error(err)
					}
					count++
				}
				return count
			},
		}
	})
}

// findVersity looks where `go install` puts a program.
func findVersity(t *testing.T) string {
	t.Helper()
	if program, err := exec.LookPath("versitygw"); err == nil {
		return program
	}
	for _, variable := range []string{"GOBIN", "GOPATH"} {
		out, err := exec.Command("go", "env", variable).Output()
		if err != nil {
			continue
		}
		folder := string(bytes.TrimSpace(out))
		if variable == "GOPATH" {
			folder = filepath.Join(folder, "bin")
		}
		program := filepath.Join(folder, "versitygw")
		if _, err := os.Stat(program); folder != "" && err == nil {
			return program
		}
	}
	t.Skip("versitygw is not installed: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	return ""
}

// startVersity starts a server with an empty bucket, and answers where it is.
func startVersity(t *testing.T, program string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	// The server keeps ETags in extended attributes, so the folder's file system has to
	// have them.
	if err := os.Mkdir(filepath.Join(folder, "heyaira"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	server := exec.Command(program, "--quiet", "--keep-alive", "--port", address, "--access", "access", "--secret", "secret-secret",
		"posix", folder)
	server.Stdout, server.Stderr = &log, &log
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Wait()
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
			return "http://" + address
		}
		select {
		case <-ended:
			t.Fatalf("versitygw ended: %s", log.String())
		case <-ctx.Done():
			t.Fatalf("versitygw does not listen: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
