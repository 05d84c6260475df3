package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/minio/minio-go/v7"

	"github.com/heyaira/heyaira-loop/lease"
)

// ErrRetained says that the store keeps an object, by a lock rule of its bucket.
var ErrRetained = errors.New("a lock rule of the bucket retains it")

var (
	errNoBucket   = errors.New("no such bucket")
	errStillThere = errors.New("it is still there")
	errNoSize     = errors.New("the store does not say how large it is")
	errChanged    = errors.New("it was replaced while it was read")
	errNoRange    = errors.New("the store answered another range than was asked for")
	errOutOfOrder = errors.New("the store lists keys out of order")
	errNotKept    = errors.New("the store took it and does not have it")
)

// isOurs tells whether an error is a finding of ours, which asking again does not change.
func isOurs(err error) bool {
	return slices.ContainsFunc([]error{
		ErrNotFound, ErrExists, errNoBucket, errStillThere, errNoSize, errChanged, errNoRange, errOutOfOrder,
		errNotKept, errNotStore, errLongReply, errEnded,
	}, func(ours error) bool { return errors.Is(err, ours) })
}

// s3Error is an error with advice for who runs the store.
type s3Error struct {
	what   string
	advice string
	cause  error
}

// Error is what was done to which key, and the cause.
func (e *s3Error) Error() string { return fmt.Sprintf("%s: %v", e.what, e.cause) }

// Unwrap answers the cause.
func (e *s3Error) Unwrap() error { return e.cause }

// Hint says what to do about it.
func (e *s3Error) Hint() string { return e.advice }

// fail names what failed, in words of ours, and gives the error its class. What the
// store sent is cut, cleaned and stripped of credentials: a proxy on the way may echo
// a request's headers.
func (s *S3) fail(ctx context.Context, verb, key string, err error) error {
	what := verb + " " + key
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	var said *s3Error
	if errors.As(err, &said) {
		return err // by us, about this key
	}
	advice := s.advice(err)
	cause := s.reworded(err)
	if advice == "" {
		return fmt.Errorf("%s: %w", what, cause)
	}
	return lease.WithClass(lease.Blocked, &s3Error{what, advice, cause})
}

// reworded is an error in our words. It still is what it was to errors.Is where it
// was one of our findings.
func (s *S3) reworded(err error) error {
	if isOurs(err) || isNoKeys(err) {
		return err
	}
	text := err.Error()
	if reply := replyOf(err); reply.Code != "" {
		said := describe(reply)
		// Keeps how often it was asked, which stands behind the reply's own words.
		if _, tried, ok := strings.Cut(text, reply.Error()); ok {
			said += tried
		}
		if isRetained(reply) {
			return fmt.Errorf("%w: %s", ErrRetained, s.clean(said))
		}
		return errors.New(s.clean(said))
	}
	var request *url.Error
	if errors.As(err, &request) {
		// Without method and address.
		text = strings.Replace(text, request.Error(), request.Err.Error(), 1)
	}
	return &opaque{text: s.clean(text), cause: err}
}

// opaque is an error in other words.
type opaque struct {
	text  string
	cause error
}

// Error is the words.
func (e *opaque) Error() string { return e.text }

// Is compares what it was.
func (e *opaque) Is(target error) bool { return errors.Is(e.cause, target) }

// describe puts a reply into a line: status, code, message.
func describe(reply minio.ErrorResponse) string {
	status := ""
	if reply.StatusCode != 0 {
		status = fmt.Sprintf("%d ", reply.StatusCode)
	}
	code := strings.TrimPrefix(reply.Code, status) // some replies have no code but the status line
	if message := reply.Message; message != "" && message != reply.Code && !secretive(message) {
		return status + code + ": " + message
	}
	return status + code
}

// secretive tells whether a text looks like a signed request or what it was made from.
func secretive(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"signature", "authorization", "x-amz-", "aws4-hmac"}, func(sign string) bool {
		return strings.Contains(text, sign)
	})
}

// cleanLimit bounds in bytes what is repeated of an error.
const cleanLimit = 300

// clean makes a text from outside fit for a line of ours.
func (s *S3) clean(text string) string {
	text = s.keys.hide(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if len(text) > cleanLimit {
		text = strings.ToValidUTF8(text[:cleanLimit], "") + "…"
	}
	return strings.TrimSpace(text)
}

func isNoKey(err error) bool {
	reply := replyOf(err)
	return reply.Code == minio.NoSuchKey || reply.StatusCode == http.StatusNotFound && reply.Code != minio.NoSuchBucket
}

func isNoUpload(err error) bool { return replyOf(err).Code == minio.NoSuchUpload }

func isPrecondition(err error) bool {
	return replyOf(err).StatusCode == http.StatusPreconditionFailed
}

func isExpired(err error) bool {
	return slices.Contains([]string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken"}, replyOf(err).Code)
}

// isRetained tells whether a refusal is a lock's: R2 has a code for it, the others say
// it in the message of a plain refusal.
func isRetained(reply minio.ErrorResponse) bool {
	if reply.Code == "ObjectLockedByBucketPolicy" || reply.Code == "ObjectLocked" {
		return true
	}
	message := strings.ToLower(reply.Message)
	return reply.StatusCode >= 400 && reply.StatusCode < 500 &&
		(strings.Contains(message, "object lock") || strings.Contains(message, "worm protected") || strings.Contains(message, "retention"))
}
