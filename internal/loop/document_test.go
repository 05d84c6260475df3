package loop

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

func sample() lease.Item {
	return lease.Item{
		Holder:     lease.Holder{Item: 42, Fence: lease.NewSerial(1, 17), Owner: "host:4242:9f3c0a7be1d24c58"},
		WorkType:   "heyaira-backup",
		Scope:      "app",
		DedupeKey:  "ab@1:42",
		Generation: lease.NewSerial(1, 42),
		Step:       lease.Verify,
		Until:      time.Date(2026, 11, 30, 18, 30, 5, 120_000, time.UTC),
		TTL:        10 * time.Minute,
		Claims:     1,
		Marker:     `{"v":"1"}`,
		Payload:    json.RawMessage(`{"a":"<b>"}`),
		Head:       "sha256:dreamnet-sorted-json:v0:00",
		Result: lease.Result{
			Data:    json.RawMessage(`{"size":1}`),
			Marker:  "m",
			Ticket:  lease.NewSerial(1, 903),
			TakenAt: time.Date(2026, 11, 30, 18, 30, 0, 0, time.UTC),
		},
	}
}

func TestDocumentHasTheFieldsOfTheDesign(t *testing.T) {
	t.Parallel()
	line, err := Document(sample(), lease.Ran)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"item":42,"work_type":"heyaira-backup","scope":"app","dedupe_key":"ab@1:42","generation":"1:42",` +
		`"step":"verify","fence":"1:17","owner":"host:4242:9f3c0a7be1d24c58","lease_until":"2026-11-30T18:30:05.000120Z",` +
		`"ttl":600,"claims":1,"marker":"{\"v\":\"1\"}","payload":{"a":"<b>"},"head":"sha256:dreamnet-sorted-json:v0:00",` +
		`"result":{"data":{"size":1},"marker":"m","ticket":"1:903","taken_at":"2026-11-30T18:30:00Z"},"outcome":"ran"}` + "\n"
	if got := string(line); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	claimed := sample()
	claimed.Step, claimed.Result = lease.Run, lease.Result{}
	line, err = Document(claimed, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(line); strings.Contains(got, "result") || strings.Contains(got, "outcome") {
		t.Errorf("a claimed item has neither result nor outcome: %s", got)
	}
}

func TestDocumentIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	line, err := Document(sample(), lease.Ran)
	if err != nil {
		t.Fatal(err)
	}
	got := collect(string(line) + `{"end":"run","items":1,"status":5}`)
	if len(got.faults) > 0 || len(got.documents) != 1 || got.status != 5 {
		t.Fatalf("got %d documents, status %d, faults %v", len(got.documents), got.status, got.faults)
	}
	r := got.documents[0]
	if r.Holder != sample().Holder || r.Step != lease.Verify || r.ended() || r.WorkType != "heyaira-backup" || r.Scope != "app" {
		t.Errorf("got %+v", r)
	}
	if string(r.raw) != string(line) {
		t.Errorf("the line was changed: %s", r.raw)
	}
	if !r.Until.Equal(sample().Until) || r.TTL != 10*time.Minute {
		t.Errorf("got until %v, ttl %v", r.Until, r.TTL)
	}
}

// A later program may add fields; this one passes them on and reads past them.
func TestDocumentOfALaterProgramIsRead(t *testing.T) {
	t.Parallel()
	line := `{"item":1,"step":"run","fence":"1:1","owner":"h:1:0","news":{"deep":[1]}}` + "\n"
	got := collect(line + `{"end":"claim","items":1,"status":0,"news":1}` + "\n")
	if len(got.faults) > 0 || len(got.documents) != 1 || string(got.documents[0].raw) != line {
		t.Errorf("got %+v", got)
	}
}

type read1 struct {
	documents []received
	faults    []error
	status    int
}

// collect reads a whole stream.
func collect(text string) read1 {
	var all read1
	s := newStream(Input{"stdin", strings.NewReader(text)})
	for {
		r, err := s.next()
		switch {
		case errors.Is(err, io.EOF):
			all.status = s.status
			return all
		case err != nil:
			all.faults = append(all.faults, err)
		default:
			all.documents = append(all.documents, r)
		}
	}
}
