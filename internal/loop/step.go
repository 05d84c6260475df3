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
	Status     int       // what it stands for; set when Ended is told
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
	for {
		a, ok := next(ctx, arrivals)
		if !ok {
			break
		}
		s.arrive(ctx, a)
	}
	s.jobs.Wait()
	s.strand()
	if ctx.Err() != nil {
		s.fault(StatusFailed, context.Cause(ctx))
	}
	s.closeStream(ctx)
	s.disconnect(ctx)
	if s.untold > 0 {
		s.faults = append(s.faults, fmt.Errorf("and %d more like these", s.untold))
	}
	return Summary{s.items, s.status}, errors.Join(s.faults...)
}

// ready opens the ledger and makes sure that it is ours, once.
func (s *step) ready(ctx context.Context) error {
	if s.db == nil {
		s.db = s.open()
		s.keeper = lease.NewKeeper(s.db, lease.KeeperOptions{})
		s.ledger, s.unfit = s.db.Identity(ctx)
	}
	return s.unfit
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

// cleanup is a context for what must be done after ctx was cancelled.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
