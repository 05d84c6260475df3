package commands

import (
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// step is what run and verify share: where documents come from, and how it is told
// how their items ended.
type step struct {
	env    *Env
	name   string // run or verify
	leases cli.StringSlice
	close  []func()
}

func (s *step) leaseFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "lease", Destination: &s.leases, Usage: "read lease documents from `FILE` and not from standard input; may be given again"}
}

// inputs are the files that were named, else standard input. A person who typed the
// command alone gets its help: nothing would ever come from the keyboard.
func (s *step) inputs(c *cli.Context) ([]loop.Input, error) {
	files := s.leases.Value()
	if len(files) == 0 {
		if terminal(s.env.In) {
			c.App.Writer = s.env.Err
			if err := cli.ShowSubcommandHelp(c); err != nil {
				return nil, fmt.Errorf("print help: %w", err)
			}
			return nil, misuse("heyaira-loop claim | heyaira-loop run | heyaira-loop verify", "%s reads lease documents, and standard input is a terminal", s.name)
		}
		return []loop.Input{{Name: "standard input", Reader: s.env.In}}, nil
	}
	inputs := make([]loop.Input, 0, len(files))
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			s.closeAll()
			return nil, misuse("", "read lease documents: %v", err)
		}
		s.close = append(s.close, func() { _ = file.Close() }) // only read from
		inputs = append(inputs, loop.Input{Name: name, Reader: file})
	}
	return inputs, nil
}

func (s *step) closeAll() {
	for _, close := range s.close {
		close()
	}
}

// open answers what opens the ledger: loop does, when the first document has come.
func (s *step) open() (func() *ledger.DB, error) {
	options, err := s.env.ledgerOptions()
	if err != nil {
		return nil, err
	}
	return func() *ledger.DB { return ledger.Open(options) }, nil
}

// end tells how an item ended: a bad end always, a good one on a terminal.
func (s *step) end(e loop.End) {
	switch {
	case e.Err != nil || e.Status != loop.StatusDone:
		s.env.tell(&endError{s.name, e}, e.Status)
	case terminal(s.env.Err):
		fmt.Fprintf(s.env.Err, "%s %s: %s\n", s.name, oneLine(e.Scope), words(e.Outcome))
	}
}

// finish tells what went wrong beside the items, and how the command ends.
func (s *step) finish(summary loop.Summary, err error) error {
	status := summary.Status
	if err != nil && status == loop.StatusDone {
		status = loop.StatusFailed
	}
	for _, fault := range faults(err) {
		s.env.tell(fmt.Errorf("%s: %w", s.name, fault), status)
	}
	if summary.Items == 0 && err == nil && terminal(s.env.Err) {
		fmt.Fprintf(s.env.Err, "%s: nothing to do, no lease document came\n", s.name)
	}
	if status != loop.StatusDone {
		return told(status)
	}
	return nil
}

// faults takes joined errors apart, so that each is a line with a hint of its own.
func faults(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// endError is how an item ended, as an error to tell.
type endError struct {
	step string
	end  loop.End
}

func (e *endError) Error() string {
	text := fmt.Sprintf("%s item %d", e.step, e.end.Item.Item)
	if e.end.Scope != "" {
		text += " of " + e.end.Scope
	}
	switch {
	case e.end.Err == nil:
		return text + ": " + words(e.end.Outcome) + again(e.end.Again)
	case e.end.Outcome == lease.Lost:
		return text + ": " + e.end.Err.Error()
	}
	return text + ": " + e.end.Err.Error() + "; " + words(e.end.Outcome) + again(e.end.Again)
}

func (e *endError) Unwrap() error { return e.end.Err }

// Hint is the cause's, and for a lost lease that nothing has to be done.
func (e *endError) Hint() string {
	if hint := hintOf(e.end.Err); hint != "" || e.end.Outcome != lease.Lost {
		return hint
	}
	return "the lease expired, or the document was used before; the next beat takes up what is left to do"
}

// words is an outcome for people.
func words(outcome lease.Outcome) string {
	switch outcome {
	case lease.Lost:
		return "the lease is no longer held: it expired, or the document was used before"
	case lease.Retried:
		return "it failed and is tried again"
	case lease.BlockedWait:
		return "it could not be done here and is tried again"
	case lease.Quarantined:
		return "it failed too often and is set aside"
	case lease.Failed:
		return "it failed for good"
	case lease.RefutedNow:
		return "the proof failed, it is done over"
	case lease.Superseded:
		return "proven, and something newer is covered already"
	case lease.GivenBack:
		return "given back to the queue"
	}
	return string(outcome)
}

func again(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return ", not before " + at.UTC().Format(time.RFC3339)
}
