package r2test

import (
	"crypto/rand"
	"io"
	"log"
	"net/http"
	"strconv"
	"strings"
)

// Request is one request as it came over the wire.
type Request struct {
	Op               string // as S3 names it: PutObject, UploadPart, ...
	Key              string
	Part             int // of UploadPart
	Header           http.Header
	Trailer          http.Header
	TransferEncoding []string
	ContentLength    int64
	Body             []byte // as it was read, its first MiB
	Status           int    // of the reply; 0 where none was sent
}

// Requests answers what was asked so far of one operation; of all where op is empty.
func (s *Server) Requests(op string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var some []Request
	for _, r := range s.seen {
		if op == "" || r.Op == op {
			some = append(some, r)
		}
	}
	return some
}

// MostAtOnce answers how many requests of an operation were under way at the same time.
func (s *Server) MostAtOnce(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most[op]
}

func (s *Server) fly(op string, change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying[op] += change
	s.most[op] = max(s.most[op], s.flying[op])
}

// operation names a request as S3 does.
func operation(r *http.Request) string {
	query := r.URL.Query()
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case query.Has("uploadId"):
		return map[string]string{
			http.MethodPut: "UploadPart", http.MethodPost: "CompleteMultipartUpload",
			http.MethodDelete: "AbortMultipartUpload", http.MethodGet: "ListParts",
		}[r.Method]
	case query.Has("uploads"):
		return map[string]string{http.MethodPost: "CreateMultipartUpload", http.MethodGet: "ListMultipartUploads"}[r.Method]
	case query.Has("lifecycle"):
		return "GetBucketLifecycleConfiguration"
	case query.Has("location"):
		return "GetBucketLocation"
	case key != "":
		return map[string]string{
			http.MethodPut: "PutObject", http.MethodGet: "GetObject",
			http.MethodHead: "HeadObject", http.MethodDelete: "DeleteObject",
		}[r.Method]
	case r.Method == http.MethodHead:
		return "HeadBucket"
	case r.Method == http.MethodGet:
		return "ListObjectsV2"
	}
	return r.Method
}

// asked is a request together with what its path and query say.
type asked struct {
	*http.Request
	op       string
	bucket   string
	key      string
	uploadID string
	part     int
}

func ask(r *http.Request) asked {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	part, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
	return asked{r, operation(r), bucket, key, r.URL.Query().Get("uploadId"), part}
}

// statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refuse answers with an error in S3's form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, errorXML(code, message))
}

func errorXML(code, message string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + `</Code><Message>` + message + `</Message></Error>`
}

func randomTag() string { return `"` + strings.ToLower(rand.Text()) + `"` }

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
