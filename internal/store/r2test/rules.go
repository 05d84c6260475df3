package r2test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ServeHTTP records a request, lets the first fault that fits befall it, and else
// answers it by the rules.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := ask(r)
	s.fly(req.op, 1)
	defer s.fly(req.op, -1)
	sent := &recorder{ReadCloser: r.Body}
	r.Body = sent
	reply := &statusWriter{ResponseWriter: w}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, ask(r)) })
	if effect := s.befalls(req); effect != nil {
		effect(s, handler).ServeHTTP(reply, r)
	} else {
		handler.ServeHTTP(reply, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, Request{
		Op: req.op, Key: req.key, Part: req.part, Header: r.Header.Clone(), Trailer: r.Trailer.Clone(),
		TransferEncoding: r.TransferEncoding, ContentLength: r.ContentLength, Body: sent.body.Bytes(), Status: reply.status,
	})
}

// recordLimit is how much of a request's body is kept.
const recordLimit = 1 << 20

// recorder keeps the beginning of what is read of a request's body.
type recorder struct {
	io.ReadCloser
	body bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.body.Write(p[:min(n, recordLimit-r.body.Len())])
	return n, err
}

func (s *Server) serve(w http.ResponseWriter, r asked) {
	if status, code, message := s.refusal(r); status != 0 {
		_, _ = io.Copy(io.Discard, r.Body) // as R2's edge does, so that the reply arrives
		refuse(w, status, code, message)
		return
	}
	switch r.op {
	case "GetBucketLifecycleConfiguration":
		s.answerLifecycle(w)
	case "CompleteMultipartUpload":
		s.complete(w, r)
	case "ListMultipartUploads":
		s.listUploads(w, r)
	default:
		s.pass(w, r)
	}
}

// refused are the headers that R2 does not implement, by the beginning of their names.
var refused = []string{"X-Amz-Acl", "X-Amz-Grant-", "X-Amz-Tagging", "X-Amz-Object-Lock-", "X-Amz-Trailer", "X-Amz-Decoded-Content-Length"}

// refusal answers why a request is not even looked at.
func (s *Server) refusal(r asked) (status int, code, message string) {
	for name := range r.Header {
		if slices.ContainsFunc(refused, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return http.StatusNotImplemented, "NotImplemented", "Header '" + name + "' not implemented"
		}
	}
	if strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") || strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return http.StatusNotImplemented, "NotImplemented", "aws-chunked is not implemented"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	signedWith := func(access string) bool {
		return strings.Contains(r.Header.Get("Authorization"), "Credential="+access+"/")
	}
	switch {
	case s.expired, slices.ContainsFunc(s.former, signedWith):
		return http.StatusBadRequest, "ExpiredToken", "The provided token has expired."
	case !signedWith(s.access):
		return http.StatusForbidden, "InvalidAccessKeyId", "The access key ID you provided does not exist in our records."
	case r.Header.Get("X-Amz-Security-Token") != s.session:
		return http.StatusForbidden, "InvalidToken", "The provided token is malformed or otherwise invalid."
	case r.bucket != Bucket:
		return http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist."
	}
	tag, stands := s.etags[r.key]
	writes := r.op == "PutObject" || r.op == "CompleteMultipartUpload"
	locked := slices.ContainsFunc(s.locks, func(prefix string) bool { return strings.HasPrefix(r.key, prefix) })
	switch want := r.Header.Get("If-Match"); {
	case stands && locked && (writes || r.op == "DeleteObject"):
		return http.StatusForbidden, "ObjectLockedByBucketPolicy", "The object is locked by the bucket lock policy."
	case r.op == "GetObject" && want != "" && want != tag:
		return http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the preconditions you specified did not hold."
	case r.op == "PutObject" && stands && r.Header.Get("If-None-Match") == "*":
		return http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the preconditions you specified did not hold."
	case writes && time.Since(s.written[r.key]) < s.options.WriteEvery:
		return http.StatusTooManyRequests, "TooManyRequests", "Reduce your rate of simultaneous writes on the same object key."
	}
	if writes {
		s.written[r.key] = time.Now()
	}
	return 0, "", ""
}

// pass lets gofakes3 answer, and keeps the books.
func (s *Server) pass(w http.ResponseWriter, r asked) {
	if r.op == "GetObject" {
		s.objects.ServeHTTP(&downloadWriter{ResponseWriter: w, s: s, key: r.key}, r.Request)
		return
	}
	reply := s.through(r.Request)
	s.mu.Lock()
	ok := reply.status < 300
	switch {
	case !ok:
	case r.op == "PutObject":
		s.etags[r.key] = randomTag()
	case r.op == "DeleteObject":
		delete(s.etags, r.key)
	case r.op == "CreateMultipartUpload":
		var created struct {
			UploadID string `xml:"UploadId"`
		}
		if xml.Unmarshal(reply.body.Bytes(), &created) == nil {
			s.uploads[created.UploadID] = &upload{key: r.key, sizes: map[int]int64{}}
		}
	case r.op == "UploadPart" && s.uploads[r.uploadID] != nil:
		s.uploads[r.uploadID].sizes[r.part] = r.ContentLength
	case r.op == "AbortMultipartUpload":
		delete(s.uploads, r.uploadID)
	}
	if tag := s.etags[r.key]; tag != "" && ok && r.op != "UploadPart" {
		reply.header.Set("ETag", tag)
	}
	s.mu.Unlock()
	s.send(w, r, reply)
}

// complete puts an upload together, if its parts are as R2 wants them.
func (s *Server) complete(w http.ResponseWriter, r asked) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "IncompleteBody", "The request body ended early.")
		return
	}
	if problem := s.unequal(r.uploadID, text); problem != "" {
		refuse(w, http.StatusBadRequest, "InvalidPart", problem)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	reply := s.through(r.Request)
	if reply.status < 300 {
		s.mu.Lock()
		delete(s.uploads, r.uploadID)
		s.etags[r.key] = randomTag()
		s.mu.Unlock()
	}
	s.send(w, r, reply)
}

// unequal answers what is wrong with the sizes of the parts that a completion names.
func (s *Server) unequal(id string, text []byte) string {
	var named struct {
		Parts []struct {
			PartNumber int
		} `xml:"Part"`
	}
	if err := xml.Unmarshal(text, &named); err != nil || len(named.Parts) == 0 {
		return "No parts were named."
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[id]
	if u == nil {
		return "" // gofakes3 will say so
	}
	first, last := u.sizes[named.Parts[0].PartNumber], len(named.Parts)-1
	for n, part := range named.Parts {
		size := u.sizes[part.PartNumber]
		if n < last && size != first || n == last && size > first {
			return fmt.Sprintf("All non-trailing parts must have the same length. Expected part %d to have size %d, found %d", part.PartNumber, first, size)
		}
		if n < last && size < s.options.MinPart {
			return "Your proposed upload is smaller than the minimum allowed object size."
		}
	}
	return ""
}

func (s *Server) answerLifecycle(w http.ResponseWriter) {
	s.mu.Lock()
	rules := s.lifecycle
	s.mu.Unlock()
	if rules == "" {
		refuse(w, http.StatusNotFound, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist.")
		return
	}
	_, _ = io.WriteString(w, rules)
}

// listUploads answers an empty list where gofakes3, of a bucket that never had an
// upload, says that there is no such upload.
func (s *Server) listUploads(w http.ResponseWriter, r asked) {
	reply := s.through(r.Request)
	if reply.status == http.StatusNotFound {
		_, _ = io.WriteString(w, "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>")
		return
	}
	s.send(w, r, reply)
}
