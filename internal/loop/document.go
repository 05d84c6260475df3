package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/heyaira/heyaira-loop/lease"
)

// maxOwner bounds the owner of a document that is read.
const maxOwner = 512

// document is a lease document as it is written. Fields are only ever added.
type document struct {
	Item       int64           `json:"item"`
	WorkType   string          `json:"work_type"`
	Scope      string          `json:"scope"`
	DedupeKey  string          `json:"dedupe_key"`
	Generation lease.Serial    `json:"generation"`
	Step       lease.Step      `json:"step"`
	Fence      lease.Serial    `json:"fence"`
	Owner      string          `json:"owner"`
	LeaseUntil string          `json:"lease_until"` // RFC 3339, UTC, microseconds
	TTL        float64         `json:"ttl"`         // seconds
	Claims     int             `json:"claims"`
	Marker     string          `json:"marker"`
	Payload    json.RawMessage `json:"payload"`
	Head       string          `json:"head"`
	Result     *lease.Result   `json:"result,omitempty"`
	Outcome    lease.Outcome   `json:"outcome,omitempty"`
}

// Document writes an item as a lease document, one line. outcome is "" for an item
// that was only claimed.
func Document(item lease.Item, outcome lease.Outcome) ([]byte, error) {
	d := document{
		Item:       item.Item,
		WorkType:   item.WorkType,
		Scope:      item.Scope,
		DedupeKey:  item.DedupeKey,
		Generation: item.Generation,
		Step:       item.Step,
		Fence:      item.Fence,
		Owner:      item.Owner,
		LeaseUntil: instant(item.Until),
		TTL:        item.TTL.Seconds(),
		Claims:     item.Claims,
		Marker:     item.Marker,
		Payload:    item.Payload,
		Head:       item.Head,
		Outcome:    outcome,
	}
	if len(d.Payload) == 0 {
		d.Payload = json.RawMessage("{}")
	}
	if item.Step == lease.Verify && item.Result.Data != nil {
		d.Result = &item.Result
	}
	line, err := encode(d)
	if err != nil {
		return nil, fmt.Errorf("write document of item %d: %w", item.Item, err)
	}
	return line, nil
}

// received is what a step takes from a document: the holder and the step, and hints
// that route it and tell a person of it.
type received struct {
	lease.Holder
	Step     lease.Step
	WorkType string
	Scope    string
	Until    time.Time
	TTL      time.Duration
	Outcome  lease.Outcome
	raw      []byte // the line as it came, with its end
	input    string
	line     int
}

// ended tells whether the step before has ended the item badly or for good: nothing
// is left to do with it.
func (r received) ended() bool { return r.Outcome != "" && r.Outcome != lease.Ran }

// item is the document as an item that has not been started.
func (r received) item() lease.Item {
	return lease.Item{Holder: r.Holder, WorkType: r.WorkType, Scope: r.Scope, Step: r.Step, Until: r.Until, TTL: r.TTL}
}

// fault is an error about the document.
func (r received) fault(reason error) error {
	return &StreamError{Input: r.input, Line: r.line, Item: r.Item, Until: r.Until, Reason: reason}
}

// wire is a line as it is read: loose, so that a bad field does not hide the others
// from the message about it.
type wire struct {
	End        *string       `json:"end"`
	Items      int           `json:"items"`
	Status     int           `json:"status"`
	Item       int64         `json:"item"`
	Fence      string        `json:"fence"`
	Owner      string        `json:"owner"`
	Step       lease.Step    `json:"step"`
	WorkType   string        `json:"work_type"`
	Scope      string        `json:"scope"`
	LeaseUntil string        `json:"lease_until"`
	TTL        float64       `json:"ttl"`
	Outcome    lease.Outcome `json:"outcome"`
}

// parse reads one line. What could be read is answered beside an error too.
func parse(line []byte) (wire, received, error) {
	var w wire
	err := json.Unmarshal(line, &w)
	until, _ := time.Parse(time.RFC3339, w.LeaseUntil) // only shown
	r := received{
		Holder:   lease.Holder{Item: w.Item, Owner: w.Owner},
		Step:     w.Step,
		WorkType: w.WorkType,
		Scope:    w.Scope,
		Until:    until,
		TTL:      time.Duration(w.TTL * float64(time.Second)),
		Outcome:  w.Outcome,
		raw:      append(bytes.TrimRight(line, "\r\n"), '\n'),
	}
	switch {
	case err != nil:
		return w, r, fmt.Errorf("not a lease document: %w", err)
	case w.End != nil:
		return w, r, nil
	case w.Item <= 0:
		return w, r, fmt.Errorf("not a lease document: no item")
	case w.Owner == "" || len(w.Owner) > maxOwner || strings.ContainsFunc(w.Owner, unicode.IsControl):
		return w, r, fmt.Errorf("not a lease document: no good owner")
	case w.Step != lease.Run && w.Step != lease.Verify:
		return w, r, fmt.Errorf("not a lease document: step %q is neither run nor verify", short(string(w.Step)))
	}
	if r.Fence, err = lease.ParseSerial(w.Fence); err != nil {
		return w, r, fmt.Errorf("not a lease document: bad fence %q", short(w.Fence))
	}
	return w, r, nil
}

// encode writes v as one line of JSON and leaves <, > and & as they are.
func encode(v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}

// instant is the one form of a time in documents; "" for none.
func instant(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// short cuts text from outside for a message.
func short(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return cut(text, most) + "…"
}

// cut shortens text to at most so many bytes.
func cut(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
