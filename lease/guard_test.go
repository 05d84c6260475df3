package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
)

// holding is a memory with one started item and its holder.
func holding(t *testing.T) (memory, lease.Holder) {
	t.Helper()
	h := newMemory()
	h.Allow(t, "w", leasetest.Policy{Coalesces: true}, "s")
	h.Put(t, leasetest.Work{WorkType: "w", Scope: "s", Marker: "m"})
	items, err := h.m.Claim(t.Context(), lease.Request{Scopes: map[string][]string{"w": {"s"}}, Limit: 1, Owner: lease.NewOwner("h")})
	if err != nil || len(items) != 1 {
		t.Fatalf("claimed %v, %v", items, err)
	}
	started, err := h.m.Start(t.Context(), lease.NewOwner("h"), lease.Run, []lease.Holder{items[0].Holder})
	if err != nil || len(started) != 1 {
		t.Fatalf("started %v, %v", started, err)
	}
	return h, started[0].Holder
}

var effect = lease.Intent{Key: "k", Kind: "test", Target: json.RawMessage(`{}`)}

func fires(n *int) func(context.Context) (json.RawMessage, error) {
	return func(context.Context) (json.RawMessage, error) {
		*n++
		return json.RawMessage(`{"ok":true}`), nil
	}
}

func TestActInDoubtNeverFiresAgainUnasked(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	guard := lease.NewGuard(h.m, held)
	timeout := errors.New("timeout")
	_, err := guard.Once(t.Context(), effect, func(context.Context) (json.RawMessage, error) { return nil, timeout })
	if !errors.Is(err, timeout) {
		t.Fatalf("once answers %v", err)
	}
	// The store alone would take the same owner's claim for a lost reply.
	n := 0
	_, err = guard.Once(t.Context(), effect, fires(&n))
	unsettled := (*lease.UnsettledError)(nil)
	if !errors.As(err, &unsettled) || unsettled.Claim.State != lease.Unknown || n > 0 {
		t.Errorf("fired %d times more, answers %v", n, err)
	}
	if e, _ := h.m.Effect("k"); e.State != "intent" {
		t.Errorf("the intent is %s, want open for a reconciler", e.State)
	}
	if want := "claim effect k: unknown under fence 1:1, not settled"; err == nil || err.Error() != want {
		t.Errorf("the error reads %q, want %q", err, want)
	}
	if got := guard.Open(); !slices.Equal(got, []string{"k"}) {
		t.Errorf("open: %v", got)
	}
}

func TestActThatSurelyDidNotFireMayFireAgain(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	guard := lease.NewGuard(h.m, held)
	refused := errors.New("connection refused")
	_, err := guard.Once(t.Context(), effect, func(context.Context) (json.RawMessage, error) {
		return nil, lease.WithClass(lease.Blocked, lease.NotFired(refused))
	})
	if !errors.Is(err, refused) || lease.ClassOf(err) != lease.Blocked {
		t.Fatalf("once answers %v of class %s", err, lease.ClassOf(err))
	}
	if e, _ := h.m.Effect("k"); e.State != lease.Abandoned {
		t.Errorf("the intent is %s", e.State)
	}
	n := 0
	if _, err := guard.Once(t.Context(), effect, fires(&n)); err != nil || n != 1 {
		t.Errorf("fired %d times, answers %v", n, err)
	}
}

func TestPermitIsGoodForOneUse(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	guard := lease.NewGuard(h.m, held)
	first, _, err := guard.Claim(t.Context(), effect)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := guard.Claim(t.Context(), effect)
	if err != nil || second == nil {
		t.Fatalf("claimed again before it fired: %v, %v", second, err)
	}
	n := 0
	if _, err := first.Fire(t.Context(), fires(&n)); err != nil {
		t.Fatal(err)
	}
	for _, permit := range []*lease.Permit{first, second} {
		if _, err := permit.Fire(t.Context(), fires(&n)); err == nil {
			t.Error("a permit fired twice")
		}
		if err := permit.Abandon(t.Context()); err == nil {
			t.Error("an effect was given up that has fired")
		}
	}
	if n != 1 {
		t.Errorf("fired %d times", n)
	}
}

func TestClaimWithoutALeaseIsLost(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	h.MoveLease(t, held.Item, -time.Second)
	_, err := lease.NewGuard(h.m, held).Once(t.Context(), effect, func(context.Context) (json.RawMessage, error) {
		t.Error("fired without a lease")
		return nil, nil
	})
	if !errors.Is(err, lease.ErrLost) || lease.ClassOf(err) != lease.LostClass {
		t.Errorf("once answers %v", err)
	}
}

func TestGuardAbandonsWhatItDidNotFire(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	guard := lease.NewGuard(h.m, held)
	for _, key := range []string{"a", "b"} {
		if _, _, err := guard.Claim(t.Context(), lease.Intent{Key: key, Target: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := guard.Abandon(ended); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b"} {
		if e, _ := h.m.Effect(key); e.State != lease.Abandoned {
			t.Errorf("%s is %s", key, e.State)
		}
	}
	if got := guard.Unfired(); len(got) > 0 {
		t.Errorf("unfired: %v", got)
	}
}

// flaky is a store whose replies are lost for a while.
type flaky struct {
	*lease.Memory
	lost atomic.Int32 // replies still to be lost
}

func (f *flaky) reply(err error) error {
	if f.lost.Add(-1) >= 0 {
		return errors.New("connection reset")
	}
	return err
}

func (f *flaky) Intend(ctx context.Context, held lease.Holder, intent lease.Intent) (lease.Claim, error) {
	claim, err := f.Memory.Intend(ctx, held, intent)
	return claim, f.reply(err)
}

func (f *flaky) Commit(ctx context.Context, key string, fence lease.Serial, evidence json.RawMessage) error {
	return f.reply(f.Memory.Commit(ctx, key, fence, evidence))
}

func (f *flaky) Abandon(ctx context.Context, key string, fence lease.Serial) error {
	return f.reply(f.Memory.Abandon(ctx, key, fence))
}

func TestLostReplyOfAClaimIsNoDoubt(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	store := &flaky{Memory: h.m}
	guard := lease.NewGuard(store, held)
	store.lost.Store(1)
	if _, _, err := guard.Claim(t.Context(), effect); err == nil {
		t.Fatal("a claim without a reply answers nothing")
	}
	if got := guard.Unfired(); !slices.Equal(got, []string{"k"}) {
		t.Errorf("unfired: %v", got)
	}
	n := 0
	if _, err := guard.Once(t.Context(), effect, fires(&n)); err != nil || n != 1 {
		t.Errorf("fired %d times, answers %v", n, err)
	}
}

func TestEvidenceIsSentUntilItIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, held := holding(t)
		store := &flaky{Memory: h.m}
		guard := lease.NewGuard(store, held)
		n := 0
		evidence, err := guard.Once(t.Context(), effect, func(ctx context.Context) (json.RawMessage, error) {
			store.lost.Store(5)
			return fires(&n)(ctx)
		})
		if err != nil || n != 1 || string(evidence) != `{"ok":true}` {
			t.Errorf("fired %d times, answers %s, %v", n, evidence, err)
		}
		if got := guard.Open(); len(got) > 0 {
			t.Errorf("open: %v", got)
		}
	})
}

func TestEvidenceThatCannotBeKeptIsAnsweredWithTheError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, held := holding(t)
		store := &flaky{Memory: h.m}
		guard := lease.NewGuard(store, held)
		n := 0
		evidence, err := guard.Once(t.Context(), effect, func(ctx context.Context) (json.RawMessage, error) {
			store.lost.Store(1000)
			return fires(&n)(ctx)
		})
		if err == nil || string(evidence) != `{"ok":true}` {
			t.Errorf("answers %s, %v", evidence, err)
		}
		if got := guard.Open(); !slices.Equal(got, []string{"k"}) {
			t.Errorf("open: %v", got)
		}
	})
}

func TestEffectThatCouldNotBeGivenUpStaysUnfired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, held := holding(t)
		store := &flaky{Memory: h.m}
		guard := lease.NewGuard(store, held)
		_, err := guard.Once(t.Context(), effect, func(context.Context) (json.RawMessage, error) {
			store.lost.Store(1000)
			return nil, lease.NotFired(errors.New("connection refused"))
		})
		if err == nil {
			t.Error("an act that did not fire answers nothing")
		}
		if got := guard.Unfired(); !slices.Equal(got, []string{"k"}) {
			t.Errorf("unfired: %v", got)
		}
	})
}

func TestPermitIsNoGoodOnceTheClaimIsAnothers(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	guard := lease.NewGuard(h.m, held)
	permit, _, err := guard.Claim(t.Context(), effect)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.m.Commit(t.Context(), "k", held.Fence, json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	if _, claim, err := guard.Claim(t.Context(), effect); err != nil || claim.State != lease.Committed {
		t.Fatalf("claimed again: %v, %v", claim, err)
	}
	n := 0
	if _, err := permit.Fire(t.Context(), fires(&n)); err == nil || n > 0 {
		t.Errorf("fired %d times what was committed before", n)
	}
}

func TestGuardSettlesWhatStoodInItsWay(t *testing.T) {
	t.Parallel()
	h, held := holding(t)
	if _, _, err := lease.NewGuard(h.m, held).Claim(t.Context(), effect); err != nil {
		t.Fatal(err)
	}
	h.MoveLease(t, held.Item, -time.Second)
	if _, err := h.m.Reclaim(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	h.MoveRun(t, held.Item, -time.Second)
	items, err := h.m.Claim(t.Context(), lease.Request{Scopes: map[string][]string{"w": {"s"}}, Limit: 1, Owner: "h:1:b"})
	if err != nil || len(items) != 1 {
		t.Fatalf("claimed %v, %v", items, err)
	}
	if _, err := h.m.Start(t.Context(), "h:2:c", lease.Run, []lease.Holder{items[0].Holder}); err != nil {
		t.Fatal(err)
	}
	next := items[0].Holder
	next.Owner = "h:2:c"
	guard := lease.NewGuard(h.m, next)
	_, standing, err := guard.Claim(t.Context(), effect)
	if err != nil || standing.State != lease.Held {
		t.Fatalf("claim answers %v, %v", standing, err)
	}
	for _, want := range []bool{true, false} {
		if done, err := guard.Settle(t.Context(), "k", standing, lease.Abandoned, nil); err != nil || done != want {
			t.Errorf("settled %v, %v, want %v", done, err, want)
		}
	}
	n := 0
	if _, err := guard.Once(t.Context(), effect, fires(&n)); err != nil || n != 1 {
		t.Errorf("fired %d times, answers %v", n, err)
	}
}
