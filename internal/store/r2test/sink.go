package r2test

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/johannesboyne/gofakes3"
)

// sink is a backend that forgets the bytes of uploads and keeps their sizes.
type sink struct {
	gofakes3.Backend

	mu      sync.Mutex
	open    map[gofakes3.UploadID]map[int]int64
	objects map[string]int64
}

var _ gofakes3.MultipartBackend = (*sink)(nil)

func newSink(rest gofakes3.Backend) *sink {
	return &sink{Backend: rest, open: map[gofakes3.UploadID]map[int]int64{}, objects: map[string]int64{}}
}

// CreateMultipartUpload begins an upload.
func (s *sink) CreateMultipartUpload(string, string, map[string]string) (gofakes3.UploadID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := gofakes3.UploadID(rand.Text())
	s.open[id] = map[int]int64{}
	return id, nil
}

// UploadPart counts a part's bytes.
func (s *sink) UploadPart(_, _ string, id gofakes3.UploadID, number int, size int64, input io.Reader) (string, error) {
	n, err := io.Copy(io.Discard, input)
	if err != nil || n != size {
		return "", gofakes3.ErrIncompleteBody
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == nil {
		return "", gofakes3.ErrNoSuchUpload
	}
	s.open[id][number] = n
	return fmt.Sprintf(`"%d"`, number), nil
}

// ListMultipartUploads lists nothing: nobody asks a sink.
func (s *sink) ListMultipartUploads(bucket string, _ *gofakes3.UploadListMarker, _ gofakes3.Prefix, limit int64) (*gofakes3.ListMultipartUploadsResult, error) {
	return &gofakes3.ListMultipartUploadsResult{Bucket: bucket, MaxUploads: limit}, nil
}

// ListParts tells whether an upload is open.
func (s *sink) ListParts(_, _ string, id gofakes3.UploadID, _ int, _ int64) (*gofakes3.ListMultipartUploadPartsResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == nil {
		return nil, gofakes3.ErrNoSuchUpload
	}
	return &gofakes3.ListMultipartUploadPartsResult{UploadID: id}, nil
}

// AbortMultipartUpload drops an upload.
func (s *sink) AbortMultipartUpload(_, _ string, id gofakes3.UploadID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == nil {
		return gofakes3.ErrNoSuchUpload
	}
	delete(s.open, id)
	return nil
}

// CompleteMultipartUpload keeps the size of what the parts are together.
func (s *sink) CompleteMultipartUpload(_, object string, id gofakes3.UploadID, input *gofakes3.CompleteMultipartUploadRequest) (gofakes3.VersionID, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == nil {
		return "", "", gofakes3.ErrNoSuchUpload
	}
	for _, part := range input.Parts {
		s.objects[object] += s.open[id][part.PartNumber]
	}
	delete(s.open, id)
	return "", `"sunk"`, nil
}

// HeadObject answers the size of an object.
func (s *sink) HeadObject(bucket, object string) (*gofakes3.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, ok := s.objects[object]
	if !ok {
		return s.Backend.HeadObject(bucket, object)
	}
	return &gofakes3.Object{
		Name:     object,
		Metadata: map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)},
		Size:     size,
		Contents: io.NopCloser(strings.NewReader("")),
	}, nil
}
