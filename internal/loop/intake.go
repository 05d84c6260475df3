package loop

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/heyaira/heyaira-loop/lease"
)

// arrival is what came from an input: a document, a fault, or the status that stood
// at the end.
type arrival struct {
	document received
	err      error
	status   int
}

// read reads inputs one after the other, ahead of the work: the step before must not
// wait for a dump before it can end. stop lets a reader go that nobody listens to any
// more; a read that is under way cannot be stopped and is left behind.
func read(inputs []Input) (arrivals <-chan arrival, stop func()) {
	ahead := make(chan arrival, 1000)
	quit := make(chan struct{})
	go func() {
		defer close(ahead)
		for _, input := range inputs {
			documents := newStream(input)
			for {
				document, err := documents.next()
				a := arrival{document: document, err: err}
				ended := errors.Is(err, io.EOF)
				if ended {
					a = arrival{status: documents.status}
				}
				select {
				case ahead <- a:
				case <-quit:
					return
				}
				if ended {
					break
				}
			}
		}
	}()
	return ahead, func() { close(quit) }
}

// next answers the next arrival, false when there are no more or ctx has ended. What
// has been read by then is answered first: the step holds its lease.
func next(ctx context.Context, arrivals <-chan arrival) (arrival, bool) {
	select {
	case a, ok := <-arrivals:
		return a, ok
	default:
	}
	select {
	case a, ok := <-arrivals:
		return a, ok
	case <-ctx.Done():
		return arrival{}, false
	}
}

// arrive looks at one document and puts it where it belongs.
func (s *step) arrive(ctx context.Context, a arrival) {
	r := a.document
	s.note(a.status)
	switch {
	case a.err != nil:
		s.fault(StatusFailed, a.err)
		return
	case r.Item == 0:
		return
	}
	s.items++
	switch {
	case r.ended():
		s.pass(ctx, r) // its end line has the status
	case s.kind == lease.Run && r.Step == lease.Verify:
		s.pass(ctx, r)
	case s.kind == lease.Verify && r.Step == lease.Run:
		s.fault(StatusFailed, r.fault(errors.New("it has not run yet")))
	case s.consumers[r.WorkType] == nil:
		s.fault(StatusFailed, r.fault(fmt.Errorf("work type %q is not in this host's configuration", short(r.WorkType))))
	case !s.known[[2]string{r.WorkType, r.Scope}]:
		s.fault(StatusFailed, r.fault(fmt.Errorf("scope %q of %s is not in this host's configuration", short(r.Scope), r.WorkType)))
	case s.seen[r.Item]:
		err := fmt.Errorf("this step was given the document twice: %w", lease.ErrLost)
		s.end(ctx, End{Item: r.item(), Outcome: lease.Lost, Err: err})
	default:
		if s.connect(ctx, r) {
			s.seen[r.Item] = true
			s.wait(ctx, r)
		}
	}
}

// pass hands a document on as it came.
func (s *step) pass(ctx context.Context, r received) {
	if s.out == nil {
		return
	}
	if r.ended() {
		if err := s.out.write(r.raw, nil); err != nil {
			s.fault(StatusFailed, err)
		}
		return
	}
	if err := s.out.write(r.raw, &r.Holder); err != nil {
		s.fault(StatusFailed, err)
		if s.connect(ctx, r) {
			s.tell(s.giveBack(ctx, r.item(), nil, nil, r.Holder))
		}
	}
}

// connect tells whether the ledger can be used. A document that comes to one that
// cannot is left to its lease.
func (s *step) connect(ctx context.Context, r received) bool {
	if s.ready(ctx) == nil {
		return true
	}
	s.stranded = append(s.stranded, r)
	return false
}

// strand tells which items could not be started, in one error.
func (s *step) strand() {
	if len(s.stranded) == 0 {
		return
	}
	text := fmt.Sprintf("start item %d, leased until %s", s.stranded[0].Item, instant(s.stranded[0].Until))
	if more := len(s.stranded) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	s.fault(ErrorStatus(s.unfit), fmt.Errorf("%s: %w", text, s.unfit))
}
