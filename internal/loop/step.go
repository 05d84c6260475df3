package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// cleanupTime is how long an interrupted step may take to give its work back.
const cleanupTime = 5 * time.Second

// StepOptions say how run and verify work.
type StepOptions struct {
	Host     string // the first part of the owner
	Parallel int    // items of one work type at a time; 0: 1
	// Ended is told how each item ended, as it happens; nil: nobody is. It is not
	// called twice at once.
	Ended func(End)
	// Progress is told how far an item's work has come, by its consumer, often; nil:
	// nobody is. It may be called several times at once.
	Progress func(item lease.Item, stage string, bytes int64)
}

// End is how an item ended in a step.
type End struct {
	lease.Item // as the row had it; of one that was never started, what its document said
	Outcome    lease.Outcome
	Again      time.Time // when it is tried again; zero: not by itself
	Err        error     // why; nil where it went well; holds no secret
}

// Summary is what a step did.
type Summary struct {
	Items  int // documents that were taken in
	Status int // the worst of the step's outcomes and faults, and of what came down the pipe
}

// step is one invocation of run or verify.
type step struct {
	kind      lease.Step
	consumers map[string]Consumer
	known     map[[2]string]bool // work type and scope
	o         StepOptions
	owner     string
	act       func(watched context.Context, a *attempt) End // runOne or verifyOne
	out       *writer                                       // nil: no documents are written

	open   func() *ledger.DB
	db     *ledger.DB // nil before the first document
	ledger ledger.Identity
	unfit  error // why the ledger cannot be used
	keeper *lease.Keeper

	items    int
	seen     map[int64]bool
	stranded []received // leased, but the ledger is unfit
	lanes    map[string]*lane
	jobs     sync.WaitGroup

	telling sync.Mutex // of o.Ended
	mu      sync.Mutex // of what follows
	status  int
	faults  []error
	untold  int // faults beyond maxFaults
}

func newStep(kind lease.Step, open func() *ledger.DB, consumers []Consumer, out io.Writer, o StepOptions) *step {
	s := &step{
		kind:      kind,
		consumers: map[string]Consumer{},
		known:     map[[2]string]bool{},
		o:         o,
		owner:     lease.NewOwner(o.Host),
		open:      open,
		seen:      map[int64]bool{},
		lanes:     map[string]*lane{},
	}
	for _, consumer := range consumers {
		s.consumers[consumer.WorkType()] = consumer
	}
	for _, p := range roster(consumers) {
		s.known[p.key()] = true
	}
	if out != nil {
		s.out = &writer{out: out}
	}
	return s
}

// do works off the inputs, one after the other, and closes the stream of documents.
func (s *step) do(ctx context.Context, inputs []Input) (Summary, error) {
	arrivals, stop := read(inputs)
	defer stop()
	s.takeAll(ctx, arrivals)
	s.jobs.Wait()
	s.strand()
	if ctx.Err() != nil {
		s.fault(StatusFailed, context.Cause(ctx))
	}
	s.close(ctx)
	s.disconnect(ctx)
	if s.untold > 0 {
		s.faults = append(s.faults, fmt.Errorf("and %d more like these", s.untold))
	}
	return Summary{s.items, s.status}, errors.Join(s.faults...)
}

// takeAll takes documents until the inputs end or the step is interrupted; what has
// been read by then is taken too, and given back.
func (s *step) takeAll(ctx context.Context, arrivals <-chan arrival) {
	for {
		select {
		case a, ok := <-arrivals:
			if !ok {
				return
			}
			s.arrive(ctx, a)
		case <-ctx.Done():
			for {
				select {
				case a, ok := <-arrivals:
					if !ok {
						return
					}
					s.arrive(ctx, a)
				default:
					return
				}
			}
		}
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
		s.note(OutcomeStatus(r.Outcome))
		s.pass(ctx, r)
	case s.kind == lease.Run && r.Step == lease.Verify:
		s.pass(ctx, r)
	case s.kind == lease.Verify && r.Step == lease.Run:
		s.fault(StatusFailed, r.fault(errors.New("it has not run yet")))
	case s.consumers[r.WorkType] == nil:
		s.fault(StatusFailed, r.fault(fmt.Errorf("work type %q is not in this host's configuration", short(r.WorkType))))
	case !s.known[[2]string{r.WorkType, r.Scope}]:
		s.fault(StatusFailed, r.fault(fmt.Errorf("scope %q of %s is not in this host's configuration", short(r.Scope), r.WorkType)))
	case s.seen[r.Item]:
		s.end(ctx, End{Item: r.item(), Outcome: lease.Lost, Err: fmt.Errorf("this step was given the document twice: %w", lease.ErrLost)})
	case s.connect(ctx, r):
		s.seen[r.Item] = true
		s.wait(ctx, r)
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
			s.tell(s.giveBack(ctx, r.item(), nil, r.Holder))
		}
	}
}

// connect opens the ledger and makes sure that it is ours, for the first document. A
// document that comes to a ledger that cannot be used is left to its lease.
func (s *step) connect(ctx context.Context, r received) bool {
	if s.db == nil {
		s.db = s.open()
		s.keeper = lease.NewKeeper(s.db, lease.KeeperOptions{})
		s.ledger, s.unfit = s.db.Identity(ctx)
	}
	if s.unfit != nil {
		s.stranded = append(s.stranded, r)
	}
	return s.unfit == nil
}

// strand tells which items could not be started, in one error.
func (s *step) strand() {
	if s.unfit == nil {
		return
	}
	text := fmt.Sprintf("start item %d, leased until %s", s.stranded[0].Item, instant(s.stranded[0].Until))
	if more := len(s.stranded) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	s.fault(ErrorStatus(s.unfit), fmt.Errorf("%s: %w", text, s.unfit))
}

func (s *step) disconnect(ctx context.Context) {
	if s.db == nil {
		return
	}
	s.keeper.Close()
	ctx, cancel := cleanup(ctx)
	defer cancel()
	_ = s.db.Close(ctx) // every statement has been answered
}

// end tells how an item ended, down the pipe and to the caller. When nobody reads the
// pipe, what has run is given back: its result stays, and the next beat verifies it.
func (s *step) end(ctx context.Context, e End) {
	if s.out != nil {
		var goesOn *lease.Holder
		if e.Outcome == lease.Ran {
			goesOn = &e.Holder
		}
		line, err := Document(e.Item, e.Outcome)
		if err == nil {
			err = s.out.write(line, goesOn)
		}
		if err != nil {
			s.fault(StatusFailed, err)
		}
		if err != nil && goesOn != nil {
			e = s.giveBack(ctx, e.Item, nil, e.Holder)
		}
	}
	s.tell(e)
}

// close ends the stream of documents. Where its reader has gone, what it did not start
// is given back.
func (s *step) close(ctx context.Context) {
	if s.out == nil {
		return
	}
	if err := s.out.end(string(s.kind), s.status); err != nil {
		s.fault(StatusFailed, err)
	}
	left := s.out.left()
	if len(left) == 0 || s.db == nil || s.unfit != nil {
		return
	}
	ctx, cancel := cleanup(ctx)
	defer cancel()
	if _, err := s.db.GiveBack(ctx, left, nil); err != nil {
		s.fault(ErrorStatus(err), fmt.Errorf("give back %d items: %w", len(left), err))
	}
}

// tell counts how an item ended and tells the caller.
func (s *step) tell(e End) {
	s.note(OutcomeStatus(e.Outcome))
	switch {
	case e.Err == nil:
	case lease.ClassOf(e.Err) == lease.Refuted && s.kind == lease.Verify:
		s.note(StatusRefuted) // also where the ceiling was reached
	case errors.Is(e.Err, ledger.ErrUnreachable), errors.Is(e.Err, ledger.ErrRefused):
		s.note(ErrorStatus(e.Err))
	}
	if s.o.Ended == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.o.Ended(e)
}

func (s *step) note(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = Worst(s.status, status)
}

// fault keeps an error that is not the outcome of an item.
func (s *step) fault(status int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = Worst(s.status, status)
	for _, one := range s.faults {
		if one.Error() == err.Error() {
			return // a reader that went away is told once
		}
	}
	if len(s.faults) == maxFaults {
		s.untold++
		return
	}
	s.faults = append(s.faults, err)
}

// cleanup is a context for what must be done after ctx was cancelled.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
