package store

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/store/r2test"
)

// streamOrder is what the process of TestMemoryOfAnUpload is told, by environment.
type streamOrder struct {
	URL      string
	Bytes    int64
	Estimate int64
}

const orderVariable = "HEYAIRA_TEST_STREAM"

// TestMemoryOfAnUpload streams more than the memory that a backup may take, in a process
// of its own, with the largest parts of that bound.
func TestMemoryOfAnUpload(t *testing.T) {
	t.Parallel()
	const mb = 1_000_000
	limit := int64(96 * mb)
	if raceDetector {
		limit += 50 * mb // its own shadow of what the process has
	}
	server := r2test.New(t, r2test.Options{Sink: true})
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, server.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(streamOrder{URL: server.URL, Bytes: 150 * mb, Estimate: 200_000 * mb})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self, "-test.run=^TestStreamInAProcess$", "-test.v")
	child.Env = append(os.Environ(), orderVariable+"="+string(order), "SSL_CERT_FILE="+roots)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, text, _ := strings.Cut(string(out), "peak: ")
	peak, err := strconv.ParseInt(strings.Fields(text + " none")[0], 10, 64)
	if err != nil || peak > limit {
		t.Errorf("took %d bytes of memory, want %d at most: %s", peak, limit, out)
	}
}

// TestStreamInAProcess is the process of TestMemoryOfAnUpload, and nothing without it.
func TestStreamInAProcess(t *testing.T) {
	text := os.Getenv(orderVariable)
	if text == "" {
		return
	}
	var order streamOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		t.Fatal(err)
	}
	s, err := NewS3(S3Options{
		Endpoint: order.URL, Bucket: r2test.Bucket,
		Keys: func() (Keys, error) { return Keys{Access: r2test.AccessKey, Secret: r2test.SecretKey}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Create(t.Context(), key, order.Estimate)
	if err != nil {
		t.Fatal(err)
	}
	piece := noise(64 << 10)
	for left := order.Bytes; left > 0; left -= int64(len(piece)) {
		if _, err := w.Write(piece[:min(int64(len(piece)), left)]); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := w.Commit(t.Context()); err != nil || info.Size != order.Bytes {
		t.Fatalf("got %+v, %v", info, err)
	}
	t.Logf("peak: %d", peakMemory(t))
}

// peakMemory is the most that this process has had in memory, in bytes.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	file, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
		if err != nil {
			if err == io.EOF {
				t.Fatal("no VmHWM in /proc/self/status")
			}
			t.Fatal(err)
		}
	}
}
