package loop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxLine bounds one line of a stream: three texts of 64 KiB and their escapes, twice.
const maxLine = 2 << 20

// maxEmpty is how many lines without a document one input may have, blank ones and end
// lines among them. One that goes on with them may never end.
const maxEmpty = 10_000

// maxFaults is how many faults of a stream are told one by one.
const maxFaults = 20

// Input is a stream of lease documents with the name it has in messages.
type Input struct {
	Name string
	io.Reader
}

// StreamError is a fault of a stream of lease documents. Item is 0 where the fault
// hides it; Until is when its lease ends, where the document says so.
type StreamError struct {
	Input  string
	Line   int
	Item   int64
	Until  time.Time
	Reason error
}

// Error names the line, the item and when its lease ends.
func (e *StreamError) Error() string {
	text := fmt.Sprintf("read %s line %d", e.Input, e.Line)
	if e.Item != 0 {
		text += fmt.Sprintf(": item %d", e.Item)
	}
	if !e.Until.IsZero() {
		text += ", leased until " + e.Until.UTC().Format(time.RFC3339)
	}
	return text + ": " + e.Reason.Error()
}

// Unwrap is the reason.
func (e *StreamError) Unwrap() error { return e.Reason }

// endLine closes a stream.
type endLine struct {
	End    string `json:"end"`
	Items  int    `json:"items"`
	Status int    `json:"status"`
}

// WriteEnd closes a stream of lease documents: step wrote items of them and ends with
// status. A step that fails before its first document closes its stream too.
func WriteEnd(out io.Writer, step string, items, status int) error {
	line, err := encode(endLine{step, items, status})
	if err != nil {
		return fmt.Errorf("write end of %s: %w", step, err)
	}
	if _, err := out.Write(line); err != nil {
		return fmt.Errorf("write end of %s: %w", step, err)
	}
	return nil
}

// stream reads the documents of one input. Several streams may follow one another in
// it (cat of two files): each has its end line.
type stream struct {
	input  Input
	lines  *bufio.Reader
	line   int
	items  int      // since the last end line
	last   received // the newest document, for the message about a cut stream
	open   bool     // no end line since the last document, or none at all
	status int      // the worst of the end lines
	ended  int      // the worst outcome since the last end line
	empty  int      // lines that held no document
}

func newStream(input Input) *stream {
	return &stream{input: input, lines: bufio.NewReaderSize(input, 64<<10), open: true}
}

// next answers the next document. A StreamError is a fault of one line, and reading
// can go on; io.EOF is the end, after a fault if the stream was cut.
func (s *stream) next() (received, error) {
	for {
		line, err := s.readLine()
		if err != nil {
			return received{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			s.empty++
			continue
		}
		w, document, err := parse(line)
		document.input, document.line = s.input.Name, s.line
		if err != nil {
			s.empty++
			s.items++ // it was somebody's document
			s.open = true
			return document, s.fault(document, err)
		}
		if w.End == nil {
			s.items++
			s.open = true
			s.last = document
			if document.ended() {
				s.ended = Worst(s.ended, OutcomeStatus(document.Outcome))
			}
			return document, nil
		}
		s.empty++
		came := s.items
		s.status = Worst(s.status, s.closing(w.Status))
		s.items, s.open, s.ended = 0, false, 0
		if came != w.Items {
			return document, s.fault(received{}, fmt.Errorf("%s wrote %d documents, %d came", short(*w.End), w.Items, came))
		}
	}
}

// closing is the status that an end line stands for: it knows better than the outcomes
// before it, but for one that says that all went well beside a bad one.
func (s *stream) closing(status int) int {
	if status == StatusDone {
		return s.ended
	}
	return status
}

// readLine answers the next line; at the end of a cut stream first the fault.
func (s *stream) readLine() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		if s.empty > maxEmpty {
			return nil, s.giveUp()
		}
		part, err := s.lines.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			tooLong = true
			s.empty++ // each part of it: it may have no end
		} else if !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(line) == 0 && !tooLong:
			return nil, s.finish(err)
		}
		s.line++
		if tooLong {
			s.items++
			s.open = true
			return nil, s.fault(received{}, fmt.Errorf("not a lease document: longer than %d bytes", maxLine))
		}
		return line, nil
	}
}

// finish judges the end of the input, once; after that it is io.EOF.
func (s *stream) finish(err error) error {
	if errors.Is(err, io.EOF) && !s.open {
		return io.EOF
	}
	s.leave()
	reason := errors.New("no end line: the step before was cut off, what else it held comes back when its leases end")
	if !errors.Is(err, io.EOF) {
		reason = err
	}
	return s.fault(s.last, reason)
}

// giveUp leaves the rest of an input that goes on without documents.
func (s *stream) giveUp() error {
	s.leave()
	return s.fault(received{}, fmt.Errorf("more than %d lines are no lease documents: the rest is left unread", maxEmpty))
}

// leave makes the next read the end of the input.
func (s *stream) leave() {
	s.open, s.empty = false, 0
	s.lines.Reset(bytes.NewReader(nil))
}

func (s *stream) fault(document received, reason error) error {
	document.input, document.line = s.input.Name, s.line
	return document.fault(reason)
}
