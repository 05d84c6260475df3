package loop

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/heyaira/heyaira-loop/ledger"
)

const (
	observerLimit = 10 * time.Second // of one observer
	observers     = 16               // that look at the same time
)

// look is what a tick knows of one scope.
type look struct {
	pair         pair
	before       ledger.Head // as the ledger had it
	head         ledger.Head // as the observer is told
	cover        *ledger.Cover
	observations []ledger.Observation // that are not idle
	err          error                // why it could not be observed
	answers      []ledger.Answer
}

// forgotten tells whether the ledger may have lost what the scope's store remembers:
// no cover was ever recorded, and no observation either.
func (l *look) forgotten() bool {
	_, asks := l.pair.consumer.(Recaller)
	return asks && !l.before.EverCovered && l.before.ObservedMarker == ""
}

// due tells whether the ledger has to hear of an observation: it is not what is
// covered, or it changes what the ledger says of the scope.
func (l *look) due(one ledger.Observation) bool {
	remembers := one.Memo == nil || bytes.Equal(one.Memo, l.head.Memo) || l.head.Memo == nil && string(one.Memo) == "null"
	idle := l.head.EverCovered && one.Marker == l.head.CoveredMarker &&
		one.WorkType == l.head.WorkType && one.Scope == l.head.Scope && one.Key == "" &&
		!one.Forced && !one.Now && one.Occurrence.IsZero() && !l.head.Uncovered && remembers
	return !idle
}

// news is what a person should know and has not been told: what began after beat, when
// this host ticked last.
func (l *look) news(beat time.Time) []News {
	var news []News
	switch failed := l.err != nil; {
	case l.pair.scope.Unwatched:
	case failed && l.before.ObserveError == "":
		news = append(news, Unobservable)
	case !failed && l.before.ObserveError != "":
		news = append(news, Recovered)
	}
	if l.before.Uncovered && l.pair.scope.RPO > 0 {
		late := l.before.UncoveredSince.Add(l.pair.scope.RPO)
		if late.After(beat) && !late.After(l.before.Now) {
			news = append(news, Overdue)
		}
	}
	return news
}

// each asks about every look at the same time, at most so many at once, each within
// its limit, and hands the answers to take, one at a time. Who does not answer in time
// is left behind: its answer is not waited for and not taken any more.
func each[T any](ctx context.Context, looks []*look, ask func(context.Context, *look) (T, error), take func(*look, T, error)) {
	var all sync.WaitGroup
	var taking sync.Mutex
	places := make(chan struct{}, observers)
	for _, l := range looks {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			asked := *l // an observer that is left behind shares nothing with the tick
			answer, err := within(ctx, func(ctx context.Context) (T, error) { return ask(ctx, &asked) })
			taking.Lock()
			defer taking.Unlock()
			take(l, answer, err)
		})
	}
	all.Wait()
}

// within lets one observer look.
func within[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, fmt.Errorf("not looked at: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, observerLimit, fmt.Errorf("observer did not answer within %s", observerLimit))
	defer cancel()
	answered := apart(func() (T, error) { return ask(ctx) })
	select {
	case got := <-answered:
		if got.err != nil && ctx.Err() != nil {
			got.err = context.Cause(ctx)
		}
		return got.value, got.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
