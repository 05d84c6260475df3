package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

func TestCheckRenewsNow(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		_, hold := k.Hold(t.Context(), item(1), store.clock())
		time.Sleep(3 * time.Second)
		if err := hold.Check(t.Context()); err != nil {
			t.Errorf("check answers %v", err)
		}
		calls := store.asked()
		if len(calls) != 1 || !within(calls[0].at, 3*time.Second) {
			t.Errorf("checked by calls %v, want one at 3 s", calls)
		}
	})
}

func TestCheckIsNotAnsweredByACallFromBefore(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			if n == 1 {
				time.Sleep(5 * time.Second)
				return all(ctx, n, held)
			}
			return nil, nil // lost meanwhile
		}
		_, hold := k.Hold(t.Context(), item(1), store.clock())
		time.Sleep(ttl/3 + 2*time.Second) // the first call is in flight
		synctest.Wait()
		if err := hold.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("check answers %v from a call that began before it", err)
		}
	})
}

func TestCheckAsksAgainUntilTrustEnds(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		store.answer = func(context.Context, int, []lease.Progress) ([]lease.Kept, error) {
			return nil, errors.New("connection refused")
		}
		_, hold := k.Hold(t.Context(), item(1), store.clock())
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := hold.Check(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("check within 10 s answers %v", err)
		}
		if err := hold.Check(t.Context()); !errors.Is(err, lease.ErrLost) {
			t.Errorf("check answers %v", err)
		}
		if at := time.Duration(store.clock()); !within(at, ttl-ttl/6) {
			t.Errorf("gave up at %s, want %s", at, ttl-ttl/6)
		}
	})
}

func TestReleasedHoldIsLeftAlone(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		answer := make(chan struct{})
		store.answer = func(context.Context, int, []lease.Progress) ([]lease.Kept, error) {
			<-answer
			return nil, nil // completed meanwhile: the store does not know it any more
		}
		ctx, hold := k.Hold(t.Context(), item(1), store.clock())
		time.Sleep(ttl/3 + time.Second)
		synctest.Wait()
		hold.Release()
		close(answer)
		synctest.Wait()
		if cause := context.Cause(ctx); cause == nil || errors.Is(cause, lease.ErrLost) || lease.Interrupted(ctx) {
			t.Errorf("a released hold ended by %v", cause)
		}
		if err := hold.Check(t.Context()); err == nil || errors.Is(err, lease.ErrLost) {
			t.Errorf("check of a released hold answers %v", err)
		}
		time.Sleep(ttl)
		if calls := store.asked(); len(calls) != 1 {
			t.Errorf("renewed %d times, want once", len(calls))
		}
	})
}

func TestStartedItemTakesThePlaceOfItsDocument(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		// A renewal under the document's owner is in flight while the owner changes hands.
		answer := make(chan struct{})
		store.answer = func(ctx context.Context, n int, held []lease.Progress) ([]lease.Kept, error) {
			if n == 1 {
				<-answer
				return nil, nil
			}
			return all(ctx, n, held)
		}
		_, document := k.Park(t.Context(), item(1))
		synctest.Wait()
		document.Release()
		started := item(1)
		started.Owner = "h:2:b"
		ctx, _ := k.Hold(t.Context(), started, store.clock())
		close(answer)
		time.Sleep(2 * ttl)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Errorf("the started item was taken for its document: %v", context.Cause(ctx))
		}
	})
}

func TestParkedDocumentIsRenewedAtOnce(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		k.Park(t.Context(), item(1))
		synctest.Wait()
		if calls := store.asked(); len(calls) != 1 || calls[0].at != 0 {
			t.Errorf("renewed by %v, want one call at once", calls)
		}
		time.Sleep(2 * ttl)
		synctest.Wait()
		if calls := store.asked(); len(calls) < 6 {
			t.Errorf("a document that waits was renewed %d times in two TTLs", len(calls))
		}
	})
}

func TestItemHeldTwiceIsLostTheSecondTime(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		first, _ := k.Hold(t.Context(), item(1), store.clock())
		second, hold := k.Hold(t.Context(), item(1), store.clock())
		if cause := context.Cause(second); !errors.Is(cause, lease.ErrLost) {
			t.Errorf("the second hold ended by %v", cause)
		}
		hold.Release() // and takes nothing from the first
		time.Sleep(2 * ttl)
		synctest.Wait()
		if first.Err() != nil {
			t.Errorf("the first hold ended: %v", context.Cause(first))
		}
	})
}

func TestInterruptedWorkIsStillRenewed(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		told, stop := context.WithCancel(t.Context())
		ctx, hold := k.Hold(told, item(1), store.clock())
		stop()
		synctest.Wait()
		if !lease.Interrupted(ctx) {
			t.Errorf("told to stop, the work ended by %v", context.Cause(ctx))
		}
		time.Sleep(2 * ttl) // children are killed, an upload is aborted
		synctest.Wait()
		if err := hold.Check(t.Context()); err != nil {
			t.Errorf("the lease went while the work was wound down: %v", err)
		}
	})
}

func TestKeeperEndsWithItsHoldsAndBeginsAgain(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		for id := range int64(3) {
			_, hold := k.Hold(t.Context(), item(id), store.clock())
			time.Sleep(ttl)
			hold.Release()
			time.Sleep(ttl)
		}
		synctest.Wait()
		if calls := store.asked(); len(calls) < 6 || len(calls) > 9 {
			t.Errorf("renewed %d times in three TTLs", len(calls))
		}
		k.Close()
		ctx, _ := k.Hold(t.Context(), item(9), store.clock())
		if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrLost) {
			t.Errorf("a hold of a closed keeper ended by %v", cause)
		}
	})
}

func TestCloseEndsACallThatIsUnderWay(t *testing.T) {
	t.Parallel()
	keep(t, func(t *testing.T, store *renewals, k *lease.Keeper) {
		store.answer = func(ctx context.Context, _ int, _ []lease.Progress) ([]lease.Kept, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		k.Park(t.Context(), item(1))
		synctest.Wait()
		began := time.Now()
		k.Close()
		if took := time.Since(began); took > 0 {
			t.Errorf("close waited for %s", took)
		}
	})
}

func TestKeeperOnTheBootClockRenewsAStoresLease(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	h.MoveLease(t, held.Item, 10*time.Second)
	k := lease.NewKeeper(h.m, lease.KeeperOptions{})
	defer k.Close()
	ctx, hold := k.Hold(t.Context(), lease.Item{Holder: held, TTL: time.Minute}, lease.Now())
	if hold.Holder() != held {
		t.Errorf("holds %v, want %v", hold.Holder(), held)
	}
	hold.Report("dump", 4096)
	if err := hold.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := h.Row(t, held.Item)
	if left := row.Until.Sub(h.Now(t)); left < 30*time.Second || row.Stage != "dump" || row.Bytes != 4096 {
		t.Errorf("the lease ends after %s, at stage %q with %d bytes", left, row.Stage, row.Bytes)
	}
	h.MoveLease(t, held.Item, -time.Second)
	if err := hold.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !errors.Is(context.Cause(ctx), lease.ErrLost) {
		t.Errorf("check of an expired lease answers %v, and the work ended by %v", err, context.Cause(ctx))
	}
}
