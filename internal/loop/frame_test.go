package loop

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const (
	one   = `{"item":1,"work_type":"t","scope":"s","step":"run","fence":"1:1","owner":"h:1:0","lease_until":"2026-11-30T18:30:00Z"}` + "\n"
	two   = `{"item":2,"work_type":"t","scope":"s","step":"run","fence":"1:2","owner":"h:1:0","lease_until":"2026-11-30T18:30:00Z"}` + "\n"
	ended = `{"end":"claim","items":%d,"status":%d}` + "\n"
)

func TestStreamFaultsAreNamedAndTheRestIsRead(t *testing.T) {
	t.Parallel()
	end := func(items int) string { return fmt.Sprintf(ended, items, 0) }
	for name, c := range map[string]struct {
		text  string
		items int
		fault string // "": none
	}{
		"OK":               {one + two + end(2), 2, ""},
		"OKNone":           {end(0), 0, ""},
		"OKTwoStreams":     {one + end(1) + two + end(1), 2, ""},
		"OKBlankLines":     {"\n" + one + "\r\n  \n" + end(1) + "\n", 1, ""},
		"OKNoLastNewline":  {one + strings.TrimSpace(end(1)), 1, ""},
		"ErrNothing":       {"", 0, "read stdin line 0: no end line"},
		"ErrCut":           {one, 1, "read stdin line 1: item 1, leased until 2026-11-30T18:30:00Z: no end line"},
		"ErrCutInALine":    {one + two[:40], 1, "read stdin line 2: not a lease document"},
		"ErrCutLater":      {one + end(1) + two, 2, "item 2, leased until 2026-11-30T18:30:00Z: no end line"},
		"ErrFewer":         {one + end(2), 1, "read stdin line 2: claim wrote 2 documents, 1 came"},
		"ErrMore":          {one + two + end(1), 2, "claim wrote 1 documents, 2 came"},
		"ErrGarbage":       {one + "hello\n" + end(2), 1, "read stdin line 2: not a lease document"},
		"ErrArray":         {"[]\n" + one + end(2), 1, "read stdin line 1: not a lease document"},
		"ErrNoItem":        {`{"step":"run","fence":"1:1","owner":"h:1:0"}` + "\n" + end(1), 0, "line 1: not a lease document: no item"},
		"ErrBadFence":      {strings.Replace(one, "1:1", "17", 1) + end(1), 0, `item 1, leased until 2026-11-30T18:30:00Z: not a lease document: bad fence "17"`},
		"ErrFenceNumber":   {strings.Replace(one, `"1:1"`, "17", 1) + end(1), 0, "item 1, leased until 2026-11-30T18:30:00Z: not a lease document"},
		"ErrNoOwner":       {strings.Replace(one, "h:1:0", "", 1) + end(1), 0, "no good owner"},
		"ErrOwnerWithZero": {strings.Replace(one, "h:1:0", `h\u0000`, 1) + end(1), 0, "no good owner"},
		"ErrStep":          {strings.Replace(one, `"run"`, `"rerun"`, 1) + end(1), 0, `step "rerun" is neither run nor verify`},
		"ErrLong":          {`{"item":1,"x":"` + strings.Repeat("x", maxLine) + "\"}\n" + two + end(2), 1, "line 1: not a lease document: longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := collect(c.text)
			if len(got.documents) != c.items {
				t.Errorf("got %d documents, want %d", len(got.documents), c.items)
			}
			var text string
			if len(got.faults) > 0 {
				text = got.faults[0].Error()
			}
			if (c.fault == "") != (text == "") || !strings.Contains(text, c.fault) {
				t.Errorf("got fault %q, want %q", text, c.fault)
			}
		})
	}
}

func TestWorstStatusOfAStreamIsKept(t *testing.T) {
	t.Parallel()
	got := collect(fmt.Sprintf(ended, 0, 4) + fmt.Sprintf(ended, 0, 7) + fmt.Sprintf(ended, 0, 0))
	if got.status != 7 || len(got.faults) > 0 {
		t.Errorf("got status %d, faults %v", got.status, got.faults)
	}
}

func TestEndLineThatHidesABadOutcomeIsNotBelieved(t *testing.T) {
	t.Parallel()
	failed := strings.Replace(one, `"step"`, `"outcome":"failed","step"`, 1)
	for status, want := range map[int]int{StatusDone: StatusFailed, StatusUnreachable: StatusUnreachable, StatusRefused: StatusRefused} {
		if got := collect(failed + fmt.Sprintf(ended, 1, status)); got.status != want || len(got.faults) > 0 {
			t.Errorf("end line says %d: got status %d, want %d, faults %v", status, got.status, want, got.faults)
		}
	}
	if got := collect(failed + fmt.Sprintf(ended, 1, 1) + one + fmt.Sprintf(ended, 1, 0)); got.status != StatusFailed {
		t.Errorf("another stream after it: got status %d", got.status)
	}
}

// forever is text again and again.
type forever string

func (f forever) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], f)
	}
	return n, nil
}

func TestInputThatNeverEndsIsLeft(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]forever{
		"Garbage":  "y\n",
		"Blank":    "\n",
		"EndLines": forever(fmt.Sprintf(ended, 0, 0)),
		"OneLine":  "\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStream(Input{"stdin", text})
			var last error
			for {
				_, err := s.next()
				if errors.Is(err, io.EOF) {
					break
				}
				last = err
			}
			if last == nil || !strings.Contains(last.Error(), "the rest is left unread") {
				t.Errorf("got %v", last)
			}
		})
	}
}

func TestEndLineIsWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := WriteEnd(&out, "claim", 2, 7); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `{"end":"claim","items":2,"status":7}`+"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
