package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

const (
	// firstPause and longestPause bound the wait before the ledger is asked again.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// giveBack hands an item to the next beat; why is nil where that is nothing bad. Of the
// holders at most one fits.
func (s *step) giveBack(ctx context.Context, item lease.Item, why error, unfired []string, holders ...lease.Holder) End {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	ended, err := persist(ctx, func() ([]lease.Ended, error) { return s.db.GiveBack(ctx, holders, unfired) })
	if err == nil && len(ended) == 0 {
		err = lease.ErrLost
	}
	if err != nil {
		err = fmt.Errorf("give back item %d: %w", item.Item, err)
		if why != nil {
			err = fmt.Errorf("%w; then %w", why, err)
		}
		return End{Item: item, Outcome: lease.Lost, Err: err}
	}
	return End{Item: item, Outcome: ended[0].Outcome, Again: ended[0].Again, Err: why}
}

// settle tells the ledger how work ended, as long as the lease can be trusted and a
// moment longer than an interruption. An answer without the item is lease.ErrLost.
func settle[T any](a *attempt, tell func(ctx context.Context) ([]T, error)) (T, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(a.held))
	defer cancel(nil)
	stop := context.AfterFunc(a.held, func() {
		if cause := context.Cause(a.held); errors.Is(cause, lease.ErrLost) {
			cancel(cause)
			return
		}
		time.AfterFunc(cleanupTime, func() { cancel(context.DeadlineExceeded) })
	})
	defer stop()
	var none T
	answers, err := persist(ctx, func() ([]T, error) { return tell(ctx) })
	if err != nil {
		return none, fmt.Errorf("tell the ledger: %w", err)
	}
	if len(answers) == 0 {
		return none, lease.ErrLost
	}
	return answers[0], nil
}

// persist asks the ledger again while it cannot be reached, until ctx ends.
func persist[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	pause := firstPause
	for {
		answer, err := ask()
		if err == nil || !errors.Is(err, ledger.ErrUnreachable) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(pause/2 + rand.N(pause/2)):
			pause = min(2*pause, longestPause)
		}
	}
}
