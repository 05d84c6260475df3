package store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/minio/minio-go/v7"
)

// replyError is what the store answered, or why no answer came, in words that can be
// shown: a server, or a proxy before it, may repeat the headers of the request.
type replyError struct {
	status   int    // 0 where no reply came
	code     string // the store's word; empty where no reply came
	message  string
	retained bool
	cause    error // of a broken connection
}

// Error is status, code and message, or why no answer came.
func (e *replyError) Error() string {
	var words []string
	if e.status != 0 {
		words = append(words, strconv.Itoa(e.status))
	}
	if e.code != "" {
		words = append(words, e.code)
	}
	text := strings.Join(words, " ")
	switch {
	case text == "":
		return e.message
	case e.message == "":
		return text
	}
	return text + ": " + e.message
}

// Unwrap answers why no reply came.
func (e *replyError) Unwrap() error { return e.cause }

// Is tells whether a lock rule refused.
func (e *replyError) Is(target error) bool { return target == ErrRetained && e.retained }

// replyOf answers what the store replied; all zero where an error is another.
func replyOf(err error) replyError {
	var reply *replyError
	if errors.As(err, &reply) {
		return *reply
	}
	return replyError{}
}

// told puts an error of minio's into our words. What is ours already stays.
func (s *S3) told(err error) error {
	if err == nil || isOurs(err) || isNoKeys(err) || replyOf(err).told() ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var reply minio.ErrorResponse
	if errors.As(err, &reply) {
		status := strconv.Itoa(reply.StatusCode) + " "
		return &replyError{
			status:   reply.StatusCode,
			code:     s.clean(strings.TrimPrefix(reply.Code, status)), // without a body the code is the status line
			message:  s.message(reply),
			retained: isRetention(reply),
		}
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without method and address
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errCutOff
	}
	return &replyError{message: s.clean(err.Error()), cause: err}
}

func (e replyError) told() bool { return e.code != "" || e.cause != nil }

// message is what of a reply's message can be shown.
func (s *S3) message(reply minio.ErrorResponse) string {
	text := strings.ToLower(reply.Message)
	for _, sign := range []string{"signature", "authorization", "x-amz-", "aws4-hmac", "<html"} {
		if strings.Contains(text, sign) {
			return "" // a signed request, or what it was made from, or a page
		}
	}
	if strings.HasSuffix(reply.Code, reply.Message) {
		return ""
	}
	return s.clean(reply.Message)
}

// cleanLimit bounds in bytes what is repeated of a text from outside.
const cleanLimit = 200

// clean makes a text from outside fit for a line of ours.
func (s *S3) clean(text string) string {
	text = s.keys.hide(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text))
	if len(text) > cleanLimit {
		text = strings.ToValidUTF8(text[:cleanLimit], "") + "…"
	}
	return strings.TrimSpace(text)
}

// isRetention tells whether a refusal is a lock's: R2 has a code for it, the others say
// it in the message of a plain refusal.
func isRetention(reply minio.ErrorResponse) bool {
	if reply.Code == "ObjectLockedByBucketPolicy" || reply.Code == "ObjectLocked" {
		return true
	}
	text := strings.ToLower(reply.Message)
	return reply.StatusCode >= 400 && reply.StatusCode < 500 &&
		(strings.Contains(text, "object lock") || strings.Contains(text, "worm protected"))
}

// isNoKey tells whether no object stands under a key, as far as the reply can tell.
func isNoKey(err error) bool {
	reply := replyOf(err)
	return reply.code == minio.NoSuchKey || reply.status == http.StatusNotFound && reply.code != minio.NoSuchBucket
}

func isNoUpload(err error) bool { return replyOf(err).code == minio.NoSuchUpload }

func isPrecondition(err error) bool { return replyOf(err).status == http.StatusPreconditionFailed }

func isExpired(err error) bool {
	return slices.Contains([]string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken"}, replyOf(err).code)
}
