package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// patience says how long a failing request is sent again: after waits that double
// from first to most, drawn at random so that hosts do not meet, for no longer than
// total from the first failure on.
type patience struct {
	first time.Duration
	most  time.Duration
	total time.Duration
}

// A question can be asked again on the next beat. The parts of an upload and the rest
// of a download are worth a longer wait: everything before them would be lost.
var (
	shortPatience = patience{first: 200 * time.Millisecond, most: 10 * time.Second, total: time.Minute}
	longPatience  = patience{first: 200 * time.Millisecond, most: 20 * time.Second, total: 5 * time.Minute}
)

// attempts counts the failures of one request.
type attempts struct {
	patience
	failed int
	since  time.Time // of the first failure
}

// again waits and answers whether to try once more after a failure.
func (t *attempts) again(ctx context.Context, err error) bool {
	if !retryable(err) || ctx.Err() != nil {
		return false
	}
	if t.failed == 0 {
		t.since = time.Now()
	}
	ceiling := min(t.most, t.first<<min(t.failed, 16))
	wait := ceiling/2 + rand.N(ceiling/2+1)
	t.failed++
	if time.Since(t.since)+wait > t.total {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// moved forgets the failures: there was progress since.
func (t *attempts) moved() { t.failed = 0 }

// over says how often it was tried in vain.
func (t *attempts) over(err error) error {
	if t.failed < 2 || !retryable(err) {
		return err
	}
	return fmt.Errorf("%w (asked %d times in %s)", err, t.failed, time.Since(t.since).Round(time.Second))
}

// try sends a request until it is answered or patience ends.
func (s *S3) try(ctx context.Context, p patience, send func() error) error {
	t := attempts{patience: p}
	renewed := false
	for {
		keys := s.keys.current()
		err := s.told(send())
		if err == nil {
			return nil
		}
		if isExpired(err) && !renewed && s.keys.renew(keys) {
			renewed = true
			continue
		}
		if !t.again(ctx, err) {
			return t.over(err)
		}
	}
}

// retryable tells whether the same request may fare better a little later.
func retryable(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case isOurs(err), isNoKeys(err), isUntrusted(err):
		return false
	}
	reply := replyOf(err)
	switch reply.code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "RequestThrottled",
		"RequestLimitExceeded", "TooManyRequests", "BandwidthLimitExceeded", "InternalError", "ServiceUnavailable",
		"RequestTimeout", "OperationAborted", "ConditionalRequestConflict",
		"IncompleteBody", "ClientDisconnect", "BadDigest", // broken on the way
		"ExistingObjectIsDirectory": // versitygw, where the last object of a folder went meanwhile
		return true
	case "":
		return true // no reply, or none that could be read
	}
	if isBlocking(reply) {
		return false
	}
	switch reply.status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, 499: // the last one: nginx on a client that went
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return reply.status >= 500
}

// isRefusal tells whether the store surely did not do what it was asked. A conflict
// with another request tells of neither: versitygw has answered one after it had
// stored the object.
func isRefusal(err error) bool {
	switch status := replyOf(err).status; status {
	case http.StatusRequestTimeout, http.StatusConflict, 499:
		return false
	default:
		return status >= 300 && status < 500 || isNoKeys(err)
	}
}

// isUntrusted tells whether the other end could not prove who it is, or speaks no TLS.
func isUntrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid) || errors.As(err, &verify) ||
		errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch)
}
