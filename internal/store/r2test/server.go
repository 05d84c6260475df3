package r2test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is the name of the one bucket.
const Bucket = "heyaira"

// The credentials that the server accepts, unless Rekey has changed them.
const (
	AccessKey = "canary-access-key"
	SecretKey = "canary-secret-key"
)

// Options change what a server is strict about.
type Options struct {
	MinPart    int64         // of all parts but the last; 0: 5 MiB
	WriteEvery time.Duration // between two writes of one key; 0: a second, less than 0: no limit
	Plain      bool          // HTTP without TLS
	Sink       bool          // forgets the bytes of objects, and answers their sizes only
}

// Server is a bucket.
type Server struct {
	URL     string
	RootCAs *x509.CertPool

	options Options
	server  *httptest.Server
	backend gofakes3.Backend
	objects http.Handler
	ended   chan struct{}

	mu        sync.Mutex
	access    string
	former    []string
	session   string
	expired   bool
	lifecycle string
	locks     []string // prefixes that are retained
	etags     map[string]string
	written   map[string]time.Time
	uploads   map[string]*upload
	faults    []*armed
	seen      []Request
	flying    map[string]int // requests by operation, now
	most      map[string]int // and at most
	cut       map[string]bool
}

// upload is what the server knows of an open upload.
type upload struct {
	key   string
	sizes map[int]int64
}

// New starts a server with an empty bucket. It ends with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.MinPart == 0 {
		o.MinPart = 5 << 20
	}
	if o.WriteEvery == 0 {
		o.WriteEvery = time.Second
	}
	s := &Server{
		options: o,
		access:  AccessKey,
		etags:   map[string]string{},
		written: map[string]time.Time{},
		uploads: map[string]*upload{},
		cut:     map[string]bool{},
		flying:  map[string]int{},
		most:    map[string]int{},
		backend: s3mem.New(),
		ended:   make(chan struct{}),
	}
	if o.Sink {
		s.backend = newSink(s.backend)
	}
	if err := s.backend.CreateBucket(Bucket); err != nil {
		t.Fatal(err)
	}
	s.objects = gofakes3.New(s.backend, gofakes3.WithTimeSkewLimit(0)).Server()
	s.server = httptest.NewUnstartedServer(s)
	s.server.Config.ErrorLog = quiet()
	if o.Plain {
		s.server.Start()
	} else {
		s.server.StartTLS()
	}
	t.Cleanup(func() {
		close(s.ended)
		s.server.CloseClientConnections()
		s.server.Close()
	})
	s.URL = s.server.URL
	if !o.Plain {
		s.RootCAs = x509.NewCertPool()
		s.RootCAs.AddCert(s.server.Certificate())
	}
	return s
}

// CertificatePEM is the server's certificate, for SSL_CERT_FILE.
func (s *Server) CertificatePEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
}

// Rekey lets the server accept other credentials; session may be empty. Those that it
// accepted so far have expired.
func (s *Server) Rekey(access, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.former = append(s.former, s.access)
	s.access, s.session, s.expired = access, session, false
}

// Expire lets the credentials in use expire.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

// Lock retains every object whose key begins with prefix.
func (s *Server) Lock(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks = append(s.locks, prefix)
}

// SetLifecycle makes the bucket answer with rules: the inside of a LifecycleConfiguration.
func (s *Server) SetLifecycle(rules string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifecycle = "<LifecycleConfiguration>" + rules + "</LifecycleConfiguration>"
}

// Uploads answers how many uploads are open below a prefix.
func (s *Server) Uploads(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, u := range s.uploads {
		if strings.HasPrefix(u.key, prefix) {
			count++
		}
	}
	return count
}

// Object answers what is stored under a key.
func (s *Server) Object(key string) ([]byte, bool) {
	object, err := s.backend.GetObject(Bucket, key, nil)
	if err != nil {
		return nil, false
	}
	defer object.Contents.Close()
	body, err := io.ReadAll(object.Contents)
	return body, err == nil
}

// Put stores an object past all rules, as another client would have done.
func (s *Server) Put(t testing.TB, key string, body []byte) {
	t.Helper()
	if err := s.store(key, body); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) store(key string, body []byte) error {
	meta := map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}
	if _, err := s.backend.PutObject(Bucket, key, meta, bytes.NewReader(body), int64(len(body)), nil); err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.etags[key] = randomTag()
	return nil
}

// Cut shortens an object and breaks off whoever is downloading it.
func (s *Server) Cut(t testing.TB, key string, size int64) {
	t.Helper()
	body, ok := s.Object(key)
	if !ok {
		t.Fatalf("no object %s", key)
	}
	s.Put(t, key, body[:size])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut[key] = true
}
