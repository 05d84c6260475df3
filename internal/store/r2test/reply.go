package r2test

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"net/http"
	"strconv"
)

// reply is an answer that was not sent yet.
type reply struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func newReply() *reply { return &reply{header: http.Header{}} }

// Header is the reply's header.
func (r *reply) Header() http.Header { return r.header }

// WriteHeader sets the reply's status, once.
func (r *reply) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write adds to the reply's body.
func (r *reply) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// through lets gofakes3 answer a request.
func (s *Server) through(r *http.Request) *reply {
	answer := newReply()
	s.objects.ServeHTTP(answer, r)
	answer.WriteHeader(http.StatusOK)
	return answer
}

// send sends a reply.
func (s *Server) send(w http.ResponseWriter, r asked, answer *reply) {
	maps.Copy(w.Header(), answer.header)
	if r.op != "HeadObject" {
		w.Header().Set("Content-Length", strconv.Itoa(answer.body.Len()))
	}
	w.WriteHeader(answer.status)
	_, _ = answer.body.WriteTo(w)
}

// piece is how much of a download is sent at a time.
const piece = 64 << 10

// downloadWriter sends an object piece by piece, so that Cut can break it off.
type downloadWriter struct {
	http.ResponseWriter
	s     *Server
	key   string
	begun bool
}

// WriteHeader puts the object's tag in the place of gofakes3's.
func (w *downloadWriter) WriteHeader(status int) {
	w.begun = true
	w.s.mu.Lock()
	if tag := w.s.etags[w.key]; tag != "" && status < 300 {
		w.Header().Set("ETag", tag)
	}
	w.s.mu.Unlock()
	w.ResponseWriter.WriteHeader(status)
}

// Write sends what there is until the object is cut.
func (w *downloadWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	sent := 0
	for sent < len(p) {
		if w.s.wasCut(w.key) {
			hangUp(w.ResponseWriter)
			return sent, errCut
		}
		n, err := w.ResponseWriter.Write(p[sent:min(sent+piece, len(p))])
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

var errCut = errors.New("the object was cut meanwhile")

// wasCut tells whether an object was cut under a download, once.
func (s *Server) wasCut(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.cut[key]
	delete(s.cut, key)
	return was
}

// hangUp resets a connection: what the client has not read yet is lost.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if inner, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = inner.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
