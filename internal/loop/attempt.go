package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/internal/proc"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

const (
	// longestTTL bounds what a document says of its lease; it is only believed until
	// the first renewal.
	longestTTL = 24 * time.Hour
	// obedience is how long a consumer may take to stop once its context has ended.
	obedience = 30 * time.Second
)

// errStuck says that a consumer did not stop when it was told to.
var errStuck = errors.New("it did not stop in time and was left behind; its lease ends by itself")

// wait parks a document until its lane has a place, then works on it.
func (s *step) wait(ctx context.Context, r received) {
	item := r.item()
	if policy := s.consumers[r.WorkType].Policy(); item.TTL < time.Second || item.TTL > longestTTL {
		item.TTL = policy.LeaseTTL
	}
	places := s.lanes[r.WorkType]
	if places == nil {
		places = newLane(s.o.Parallel)
		s.lanes[r.WorkType] = places
	}
	parked, hold := s.keeper.Park(ctx, item)
	place := places.join()
	s.jobs.Go(func() {
		defer places.leave(place)
		var patience <-chan time.Time
		if s.kind == lease.Run {
			timer := time.NewTimer(item.TTL)
			defer timer.Stop()
			patience = timer.C
		}
		waited := false
		select {
		case <-place.come:
		case <-parked.Done():
		case <-patience:
			waited = true
		}
		hold.Release()
		switch cause := context.Cause(parked); {
		case errors.Is(cause, lease.ErrLost):
			s.end(ctx, End{Item: item, Outcome: lease.Lost, Err: cause})
		case ctx.Err() != nil:
			s.end(ctx, s.giveBack(ctx, item, context.Cause(ctx), nil, r.Holder))
		case waited:
			s.end(ctx, s.giveBack(ctx, item, nil, nil, r.Holder))
		default:
			s.start(ctx, r, item)
		}
	})
}

// start begins the work of a document and sees it through.
func (s *step) start(ctx context.Context, r received, item lease.Item) {
	var asked lease.Instant
	trusted, cancel := context.WithTimeout(ctx, item.TTL)
	defer cancel()
	items, err := persist(trusted, func() ([]lease.Item, error) {
		asked = lease.Now()
		return s.db.Start(trusted, s.owner, s.kind, []lease.Holder{r.Holder})
	})
	ours := lease.Holder{Item: r.Item, Fence: r.Fence, Owner: s.owner}
	switch {
	case ctx.Err() != nil:
		// Whether it was started is not known: at most one of the two holders fits.
		s.end(ctx, s.giveBack(ctx, item, context.Cause(ctx), nil, ours, r.Holder))
		return
	case err != nil:
		s.end(ctx, End{Item: item, Outcome: lease.Lost, Err: fmt.Errorf("start item %d: %w", item.Item, err)})
		return
	case len(items) == 0:
		s.end(ctx, End{Item: item, Outcome: lease.Lost, Err: lease.ErrLost})
		return
	}
	item = items[0]
	consumer := s.consumers[item.WorkType]
	if consumer == nil || !s.known[[2]string{item.WorkType, item.Scope}] {
		// The document named another scope than the row has.
		why := fmt.Errorf("scope %q of %s is not in this host's configuration", item.Scope, item.WorkType)
		s.note(StatusFailed)
		s.end(ctx, s.giveBack(ctx, item, why, nil, ours))
		return
	}
	s.see(ctx, consumer, item, asked)
}

// attempt is the work on one item, from its start to its outcome.
type attempt struct {
	step     *step
	consumer Consumer
	work     *Work
	held     context.Context // ends when the lease is lost or the step interrupted
}

// see lets the consumer work under a lease and the time limits. The lease is renewed
// until the document has been handed on.
func (s *step) see(ctx context.Context, consumer Consumer, item lease.Item, asked lease.Instant) {
	held, hold := s.keeper.Hold(ctx, item, asked)
	defer hold.Release()
	var timeout, stall time.Duration
	if limits := consumer.Policy().Limits; limits != nil {
		timeout, stall = limits(item.Scope)
	}
	watched, dog := watch(held, timeout, stall)
	defer dog.stop()
	a := &attempt{
		step:     s,
		consumer: consumer,
		held:     held,
		work: &Work{
			Item:   item,
			Ledger: s.ledger,
			Guard:  lease.NewGuard(s.db, item.Holder),
			db:     s.db,
			hold:   hold,
			report: func(stage string, bytes int64) {
				hold.Report(stage, bytes)
				dog.report(stage, bytes)
				if s.o.Progress != nil {
					s.o.Progress(item, stage, bytes)
				}
			},
		},
	}
	s.end(ctx, s.act(watched, a))
}

// badly ends an attempt that failed with err, by the class of err, and answers how.
func (a *attempt) badly(watched context.Context, err error) End {
	item := a.work.Item
	if watched.Err() != nil {
		if errors.Is(err, errStuck) {
			return End{Item: item, Outcome: lease.Lost, Err: fmt.Errorf("%w: %w", context.Cause(watched), err)}
		}
		err = context.Cause(watched)
	}
	class := lease.ClassOf(err)
	switch {
	case class == lease.LostClass:
		return End{Item: item, Outcome: lease.Lost, Err: err}
	case lease.Interrupted(watched):
		return a.step.giveBack(a.held, item, err, a.work.Guard.Unfired(), item.Holder)
	case class == lease.Refuted && a.step.kind == lease.Run:
		class = lease.Transient // only a verify can refute
	}
	// What could not be given up is asked about by the next attempt.
	_ = a.work.Guard.Abandon(a.held)
	ended, told := settle(a, func(ctx context.Context) ([]lease.Ended, error) {
		return a.step.db.Fail(ctx, []lease.Failure{{Holder: item.Holder, Class: class, Reason: proc.Scrub(err.Error())}})
	})
	if told != nil {
		return End{Item: item, Outcome: lease.Lost, Err: fmt.Errorf("%w; then %w", err, told)}
	}
	return End{Item: item, Outcome: ended.Outcome, Again: ended.Again, Err: err}
}

// unsettled ends an attempt whose good end the ledger did not take. What it refused for
// its own sake has failed; where the lease is gone, or nobody answered, nothing is known.
func (a *attempt) unsettled(watched context.Context, err error) End {
	if errors.Is(err, lease.ErrLost) || errors.Is(err, ledger.ErrUnreachable) {
		return End{Item: a.work.Item, Outcome: lease.Lost, Err: err}
	}
	return a.badly(watched, err)
}

// carry lets the consumer act and waits for its end. An act that goes on after its
// context has ended is left behind after a while: nothing of it is believed any more.
func carry[T any](watched context.Context, a *attempt, act func() (T, error)) (T, error) {
	answered := apart(func() (T, error) {
		value, err := act()
		if open := a.work.Guard.Open(); err == nil && len(open) > 0 {
			err = fmt.Errorf("what became of effect %s was not recorded", open[0])
		}
		return value, err
	})
	select {
	case got := <-answered:
		return got.value, got.err
	case <-watched.Done():
	}
	timer := time.NewTimer(obedience)
	defer timer.Stop()
	select {
	case got := <-answered:
		return got.value, got.err
	case <-timer.C:
		var none T
		return none, errStuck
	}
}
