package r2test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Always, as the number of times, lets a fault happen again and again.
const Always = -1

// Fault is one thing that goes wrong.
type Fault struct {
	Op     string // the operation it befalls, as S3 names it; empty: any
	Key    string // how the key begins; empty: any
	Skip   int    // so many are left in peace first
	Times  int    // how often it happens; 0: once
	Effect Effect
}

// Effect is what happens to a request in place of an answer.
type Effect func(s *Server, answer http.Handler) http.Handler

// armed is a fault and how often it was met.
type armed struct {
	Fault
	met int
}

// Inject lets something go wrong from now on. Of several faults that fit, the first
// that was injected happens.
func (s *Server) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.faults = append(s.faults, &armed{Fault: f})
	}
}

// Mend takes all faults away.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (s *Server) befalls(r asked) Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Op != "" && f.Op != r.op || !strings.HasPrefix(r.key, f.Key) {
			continue
		}
		f.met++
		times := f.Times
		if times == 0 {
			times = 1
		}
		if f.met > f.Skip && (times == Always || f.met <= f.Skip+times) {
			return f.Effect
		}
	}
	return nil
}

func effect(do func(w http.ResponseWriter, r *http.Request, answer http.Handler)) Effect {
	return func(_ *Server, answer http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { do(w, r, answer) })
	}
}

// Reset breaks the connection before anything is done.
func Reset() Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, _ http.Handler) { hangUp(w) })
}

// Answer answers with an error, after the request was read and nothing was done.
func Answer(status int, code string) Effect {
	return AnswerWith(status, code, "The server was told to say so.")
}

// AnswerWith is Answer with a message of one's own.
func AnswerWith(status int, code, message string) Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		refuse(w, status, code, message)
	})
}

// Page answers with what no store sends: a page for people.
func Page(status int) Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html><body>Please sign in. "+r.Header.Get("Authorization")+"</body></html>")
	})
}

// LoseReply does what was asked and breaks the connection.
func LoseReply() Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		answer.ServeHTTP(newReply(), r)
		hangUp(w)
	})
}

// ErrorInSuccess answers 200 with an error inside, and does nothing.
func ErrorInSuccess(code string) Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "\n\n"+errorXML(code, "We encountered an internal error. Please try again."))
	})
}

// DoneButError does what was asked and answers 200 with an error inside.
func DoneButError(code string) Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		answer.ServeHTTP(newReply(), r)
		_, _ = io.WriteString(w, errorXML(code, "We encountered an internal error. Please try again."))
	})
}

// Truncate breaks a download off after so many bytes; its header tells of all.
func Truncate(after int) Effect {
	return download(func(w http.ResponseWriter, r *http.Request, body []byte) {
		_, _ = w.Write(body[:min(after, len(body))])
		_ = http.NewResponseController(w).Flush()
		hangUp(w)
	})
}

// Flip changes one bit of a download.
func Flip(at int) Effect {
	return download(func(w http.ResponseWriter, r *http.Request, body []byte) {
		body[at%len(body)] ^= 1
		_, _ = w.Write(body)
	})
}

// StallAfter sends so many bytes of a download and then nothing more.
func StallAfter(after int) Effect {
	return download(func(w http.ResponseWriter, r *http.Request, body []byte) {
		_, _ = w.Write(body[:min(after, len(body))])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// Slow sends a download in pieces with a pause behind each.
func Slow(piece int, pause time.Duration) Effect {
	return download(func(w http.ResponseWriter, r *http.Request, body []byte) {
		for len(body) > 0 {
			n := min(piece, len(body))
			if _, err := w.Write(body[:n]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			body = body[n:]
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return
			}
		}
	})
}

func download(send func(w http.ResponseWriter, r *http.Request, body []byte)) Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		full := newReply()
		answer.ServeHTTP(full, r)
		maps.Copy(w.Header(), full.header)
		w.Header().Set("Content-Length", strconv.Itoa(full.body.Len()))
		w.WriteHeader(full.status)
		send(w, r, bytes.Clone(full.body.Bytes()))
	})
}

// Stall reads the request and never answers.
func Stall() Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
}

// Deaf never even reads the request's body.
func Deaf() Effect {
	return func(s *Server, _ http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done(): // only seen where there was no body to read
			case <-s.ended:
			}
		})
	}
}

// Lie says that it is done and does nothing.
func Lie(status int) Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
	})
}

// KeepNothing does what was asked, and what is stored has no bytes.
func KeepNothing() Effect {
	return func(s *Server, answer http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer.ServeHTTP(w, r)
			_ = s.store(ask(r).key, nil)
		})
	}
}

// IgnoreConditions forgets If-None-Match, as servers do that do not know it.
func IgnoreConditions() Effect {
	return effect(func(w http.ResponseWriter, r *http.Request, answer http.Handler) {
		r.Header.Del("If-None-Match")
		answer.ServeHTTP(w, r)
	})
}
