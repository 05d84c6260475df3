package lease_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// In these tests time is synctest's: it passes only while everybody waits, and then at
// once. The boot clock is that time plus what the machine was suspended for.

const ttl = time.Minute

// renewals is a store of which only renewing is asked: each call goes to answer.
type renewals struct {
	mu     sync.Mutex
	begun  time.Time
	asleep time.Duration
	calls  []renewal
	answer func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error)
}

type renewal struct {
	at   time.Duration // on the boot clock
	held []lease.Progress
}

func (r *renewals) Renew(ctx context.Context, held []lease.Progress) ([]lease.Kept, error) {
	r.mu.Lock()
	r.calls = append(r.calls, renewal{time.Duration(r.now()), held})
	n := len(r.calls)
	r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.answer(ctx, n, held)
}

// now is the boot clock; suspend makes it jump.
func (r *renewals) now() lease.Instant { return lease.Instant(time.Since(r.begun) + r.asleep) }

func (r *renewals) clock() lease.Instant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

func (r *renewals) suspend(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asleep += d
}

func (r *renewals) asked() []renewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// all keeps every lease.
func all(_ context.Context, _ int, held []lease.Progress) ([]lease.Kept, error) {
	var kept []lease.Kept
	for _, p := range held {
		kept = append(kept, lease.Kept{Item: p.Item})
	}
	return kept, nil
}

// stalled never answers, and does not listen to its context: the worst connection.
func stalled(over <-chan struct{}) func(context.Context, int, []lease.Progress) ([]lease.Kept, error) {
	return func(context.Context, int, []lease.Progress) ([]lease.Kept, error) {
		<-over
		return nil, errors.New("connection reset")
	}
}

func keep(t *testing.T, test func(t *testing.T, store *renewals, k *lease.Keeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &renewals{begun: time.Now(), answer: all}
		k := lease.NewKeeper(store, lease.KeeperOptions{Now: store.clock})
		test(t, store, k)
		k.Close()
	})
}

func item(id int64) lease.Item {
	return lease.Item{Holder: lease.Holder{Item: id, Fence: 7, Owner: "h:1:a"}, TTL: ttl}
}

// ended waits for a context to end and tells when and why.
func ended(store *renewals, ctx context.Context) (time.Duration, error) {
	<-ctx.Done()
	return time.Duration(store.clock()), context.Cause(ctx)
}

// within tells whether got is want or up to a second later: the keeper looks that often.
func within(got, want time.Duration) bool { return got >= want && got <= want+time.Second }

func TestRenewsAtAThirdOfTheTTL(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		ctx, _ := k.Hold(t.Context(), item(1), store.clock())
		time.Sleep(10 * ttl)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("a lease that was renewed in time ended: %v", context.Cause(ctx))
		}
		calls := store.asked()
		if len(calls) < 29 || len(calls) > 30 {
			t.Errorf("renewed %d times in ten TTLs, want 30", len(calls))
		}
		for i, call := range calls {
			if want := time.Duration(i+1) * ttl / 3; !within(call.at, want) {
				t.Errorf("renewal %d came at %s, want %s", i+1, call.at, want)
			}
		}
	})
}

func TestTrustEndsAlthoughTheRenewalIsInFlight(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		over := make(chan struct{})
		defer close(over)
		store.answer = stalled(over)
		ctx, hold := k.Hold(t.Context(), item(1), store.clock())
		at, cause := ended(store, ctx)
		if !errors.Is(cause, lease.ErrLost) {
			t.Errorf("ended by %v", cause)
		}
		if want := ttl - ttl/6; !within(at, want) {
			t.Errorf("trusted until %s, want %s", at, want)
		}
		if err := hold.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("check of a lost lease answers %v", err)
		}
	})
}

func TestSlowRenewalCountsFromItsStart(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		const slow = 9 * time.Second
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			if n > 1 {
				return nil, errors.New("connection refused")
			}
			time.Sleep(slow)
			return all(ctx, n, held)
		}
		ctx, _ := k.Hold(t.Context(), item(1), store.clock())
		at, _ := ended(store, ctx)
		if want := store.asked()[0].at + ttl - ttl/6; !within(at, want) {
			t.Errorf("trusted until %s, want %s: %s after the call began", at, want, ttl-ttl/6)
		}
	})
}

func TestRenewalThatComesTooLateRenewsNothing(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			store.suspend(2 * ttl) // in the middle of the call
			return all(ctx, n, held)
		}
		ctx, hold := k.Hold(t.Context(), item(1), store.clock())
		if err := hold.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("check answers %v", err)
		}
		if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrLost) {
			t.Errorf("ended by %v", cause)
		}
	})
}

func TestSuspendEndsTrustAtOnce(t *testing.T) {
	t.Parallel()
	for _, notice := range []string{"by itself", "by a report", "by a check"} {
		t.Run(notice, func(t *testing.T) {
			t.Parallel()
			keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
				ctx, hold := k.Hold(t.Context(), item(1), store.clock())
				time.Sleep(1500 * time.Millisecond)
				store.suspend(time.Hour)
				woken := time.Now()
				limit := time.Duration(0)
				switch notice {
				case "by itself":
					limit = time.Second
				case "by a report":
					hold.Report("dump", 1)
				case "by a check":
					if err := hold.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
						t.Errorf("check answers %v", err)
					}
				}
				<-ctx.Done()
				if took := time.Since(woken); took > limit {
					t.Errorf("noticed %s after waking", took)
				}
				if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrLost) {
					t.Errorf("ended by %v", cause)
				}
				if calls := store.asked(); len(calls) != 0 {
					t.Errorf("a lease that could not be trusted any more was renewed: %v", calls)
				}
			})
		})
	}
}

func TestStoreErrorIsNotLost(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		var down atomic.Bool
		down.Store(true)
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			if down.Load() {
				return nil, errors.New("connection refused")
			}
			return all(ctx, n, held)
		}
		ctx, _ := k.Hold(t.Context(), item(1), store.clock())
		time.Sleep(ttl/3 + 25*time.Second) // the outage ends inside the trust window
		synctest.Wait()
		tries := len(store.asked())
		if tries < 4 || tries > 60 {
			t.Errorf("tried %d times in 25 s of outage", tries)
		}
		down.Store(false)
		time.Sleep(10 * ttl)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("an outage inside the trust window ended the work: %v", context.Cause(ctx))
		}
	})
}

func TestStalledCallIsGivenUpInTimeForAnother(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			if n == 1 {
				<-ctx.Done() // a connection that is dead and says nothing
				return nil, ctx.Err()
			}
			return all(ctx, n, held)
		}
		ctx, _ := k.Hold(t.Context(), item(1), store.clock())
		time.Sleep(3 * ttl)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("one dead connection ended the work: %v", context.Cause(ctx))
		}
	})
}

func TestOneCallRenewsAllAndTheMissingAreLost(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			return all(ctx, n, slices.DeleteFunc(slices.Clone(held), func(p lease.Progress) bool { return p.Item == 2 }))
		}
		long := item(3)
		long.TTL = 10 * time.Minute
		first, hold := k.Hold(t.Context(), item(1), store.clock())
		second, _ := k.Hold(t.Context(), item(2), store.clock())
		third, _ := k.Hold(t.Context(), long, store.clock())
		hold.Report("upload", 4096)

		at, cause := ended(store, second)
		if !errors.Is(cause, lease.ErrLost) || !within(at, ttl/3) {
			t.Errorf("an item that the store does not know ended by %v at %s", cause, at)
		}
		calls := store.asked()
		if len(calls) != 1 || len(calls[0].held) != 3 {
			t.Fatalf("renewed in calls %v, want one for all three", calls)
		}
		if got, want := calls[0].held[0], (lease.Progress{Holder: item(1).Holder, Bytes: 4096, Stage: "upload"}); got != want {
			t.Errorf("renewed with %v, want %v", got, want)
		}
		time.Sleep(10 * ttl)
		synctest.Wait()
		if first.Err() != nil || third.Err() != nil {
			t.Errorf("the others ended: %v, %v", context.Cause(first), context.Cause(third))
		}
	})
}

func TestShorterPolicyIsFollowed(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		const shorter = 6 * time.Second
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			if n > 1 {
				return nil, errors.New("connection refused")
			}
			return []lease.Kept{{Item: 1, TTL: shorter}}, nil
		}
		ctx, _ := k.Hold(t.Context(), item(1), store.clock())
		at, _ := ended(store, ctx)
		if want := store.asked()[0].at + shorter - shorter/6; !within(at, want) {
			t.Errorf("trusted until %s, want %s", at, want)
		}
	})
}
