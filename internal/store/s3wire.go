package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// The bounds of silence. Putting an upload's parts together may take a store minutes.
const (
	silence         = time.Minute
	assemblySilence = 5 * time.Minute
)

// replyLimit bounds a reply that carries no object. A page of a listing stays far below.
const replyLimit = 16 << 20

var (
	errStalled   = errors.New("no byte moved for too long")
	errCutOff    = errors.New("the connection was closed early")
	errNotStore  = errors.New("what answers there is no S3 store")
	errLongReply = errors.New("the reply is longer than any listing")
)

// wire carries every request. It cancels what moves no byte, so that no request hangs
// for ever, and it believes a reply only if it is one: success with an error inside,
// or with something inside that no store sends, would read as an empty listing.
type wire struct {
	next     http.RoundTripper
	silence  time.Duration
	assembly time.Duration
	skew     atomic.Pointer[time.Duration] // how far this host's clock is ahead
}

func newWire(roots *x509.CertPool) *wire {
	return &wire{
		// HTTP/1.1 only: two parts then have two connections, and neither waits for the other.
		next: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     time.Minute,
			MaxIdleConnsPerHost: 16,
			DisableCompression:  true,
			WriteBufferSize:     64 << 10,
			ReadBufferSize:      64 << 10,
		},
		silence:  silence,
		assembly: assemblySilence,
	}
}

// RoundTrip sends a request and answers a reply that can be believed.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	limit := w.silence
	if req.Method == http.MethodPost {
		limit = w.assembly
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	guard := &stallGuard{limit: limit, timer: time.AfterFunc(limit, func() { cancel(errStalled) })}
	out := req.WithContext(ctx)
	if out.Body != nil {
		out.Body = &guardedBody{ReadCloser: out.Body, ctx: ctx, moved: guard.moved}
	}
	resp, err := w.next.RoundTrip(out)
	guard.timer.Stop()
	if err != nil {
		err = spoken(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &replyBody{body: resp.Body, guard: guard, ctx: ctx, cancel: cancel}
	w.readClock(resp)
	if resp.StatusCode == http.StatusOK && !carriesObject(req) {
		if err := believe(resp, rootOf(req)); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
	}
	return resp, nil
}

// readClock compares this host's clock with the store's, which is told to the second.
func (w *wire) readClock(resp *http.Response) {
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		skew := time.Since(at).Truncate(time.Second)
		w.skew.Store(&skew)
	}
}

// Skew is how far this host's clock was ahead of the store's at the last reply, to
// the second; false before the first.
func (s *S3) Skew() (time.Duration, bool) {
	skew := s.wire.skew.Load()
	if skew == nil {
		return 0, false
	}
	return *skew, true
}

// spoken answers why a request failed, in words without addresses, and never as the
// end of a stream.
func spoken(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		return errStalled
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errCutOff
	}
	return err
}

// stallGuard ends what moves no byte.
type stallGuard struct {
	limit time.Duration
	timer *time.Timer
}

func (g *stallGuard) moved() { g.timer.Reset(g.limit) }

// guardedBody is the body of a request.
type guardedBody struct {
	io.ReadCloser
	ctx   context.Context
	moved func()
}

// Read hands bytes to the connection.
func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.ctx.Err() == nil {
		b.moved()
	}
	return n, err
}

// replyBody is the body of a reply. It is guarded only while somebody reads: a slow
// reader is no stall.
type replyBody struct {
	body   io.ReadCloser
	guard  *stallGuard
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Read reads from the connection. A connection that ends early is no end of the body.
func (b *replyBody) Read(p []byte) (int, error) {
	b.guard.moved()
	n, err := b.body.Read(p)
	b.guard.timer.Stop()
	if err != nil && err != io.EOF {
		err = spoken(b.ctx, err)
	}
	return n, err
}

// Close lets go of the connection.
func (b *replyBody) Close() error {
	b.guard.timer.Stop()
	err := b.body.Close()
	b.cancel(nil)
	return err
}

// carriesObject tells whether the reply to a request is an object's bytes.
func carriesObject(req *http.Request) bool {
	return req.Method == http.MethodHead || req.Method == http.MethodGet && rootOf(req) == "" && !req.URL.Query().Has("location")
}

// rootOf answers the element that the reply to a request consists of; empty where it
// consists of none.
func rootOf(req *http.Request) string {
	query := req.URL.Query()
	switch {
	case req.Method == http.MethodGet && query.Has("list-type"):
		return "ListBucketResult"
	case req.Method == http.MethodGet && query.Has("uploads"):
		return "ListMultipartUploadsResult"
	case req.Method == http.MethodGet && query.Has("uploadId"):
		return "ListPartsResult"
	case req.Method == http.MethodGet && query.Has("lifecycle"):
		return "LifecycleConfiguration"
	case req.Method == http.MethodPost && query.Has("uploads"):
		return "InitiateMultipartUploadResult"
	case req.Method == http.MethodPost && query.Has("uploadId"):
		return "CompleteMultipartUploadResult"
	}
	return ""
}

// believe reads a reply to its end and looks at its root element. An error inside a
// success becomes the failure that it is.
func believe(resp *http.Response, want string) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, replyLimit+1))
	if err != nil {
		return err
	}
	if len(text) > replyLimit {
		return errLongReply
	}
	switch root := rootElement(text); {
	case root == "Error":
		resp.StatusCode, resp.Status = http.StatusInternalServerError, "500 an error in a success"
	case want != "" && root != want:
		return errNotStore
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}

func rootElement(text []byte) string {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local
		}
	}
}
