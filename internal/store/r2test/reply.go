package r2test

import (
	"bytes"
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

// piece is how much of a download is sent at a time.
const piece = 64 << 10

// send sends a reply, a download piece by piece, so that Cut can break it off.
func (s *Server) send(w http.ResponseWriter, r asked, answer *reply) {
	maps.Copy(w.Header(), answer.header)
	if r.op != "HeadObject" {
		w.Header().Set("Content-Length", strconv.Itoa(answer.body.Len()))
	}
	w.WriteHeader(answer.status)
	for answer.body.Len() > 0 {
		if r.op == "GetObject" && s.wasCut(r.key) {
			hangUp(w)
			return
		}
		if _, err := w.Write(answer.body.Next(piece)); err != nil {
			return
		}
	}
}

// wasCut tells whether an object was cut under a download, once.
func (s *Server) wasCut(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, was := s.cut[key]
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
