package loop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

func TestInterruptedStepGivesItsWorkBack(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b")
	l := newLab(t, f)
	documents := l.due()
	ctx, interrupt := context.WithCancel(t.Context())
	gone := false
	f.run = func(ctx context.Context, w *Work) error {
		intent := lease.Intent{Key: "publish:a", Kind: "publish", Target: []byte(`{}`)}
		if _, claim, err := w.Guard.Claim(ctx, intent); err != nil || claim.State != lease.Claimed {
			t.Errorf("claim effect: %v, %v", claim.State, err)
		}
		interrupt()
		<-ctx.Done()
		if !lease.Interrupted(ctx) {
			t.Errorf("cause is %v", context.Cause(ctx))
		}
		gone = true
		return errors.New("pg_dump: terminated")
	}
	ran := l.run(ctx, documents)
	if !gone {
		t.Error("the step did not wait for its consumer")
	}
	if !errors.Is(ran.err, context.Canceled) || ran.Status != StatusFailed {
		t.Errorf("got %+v", ran)
	}
	for _, scope := range []string{"a", "b"} {
		if ran.outcomes()[scope] != lease.GivenBack {
			t.Errorf("%s: got %s", scope, ran.outcomes()[scope])
		}
		if got := l.item(scope); got.State != "queued" || got.Failures != 0 || got.Crashes != 0 || got.RunIn > 0 {
			t.Errorf("%s: got %+v", scope, got)
		}
	}
	if n := l.count(`SELECT count(*) FROM heyaira_loop.effect_intent WHERE state = 'abandoned'`); n != 1 {
		t.Errorf("%d intents are abandoned, want 1", n)
	}
	if !strings.HasSuffix(ran.out, `{"end":"run","items":2,"status":1}`+"\n") {
		t.Errorf("printed %s", ran.out)
	}
}

func TestResultThatWasThereBeforeTheInterruptionIsKept(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	documents := l.due()
	ctx, interrupt := context.WithCancel(t.Context())
	f.run = func(context.Context, *Work) error { interrupt(); return nil }
	ran := l.run(ctx, documents)
	if ran.outcomes()["app"] != lease.Ran || !errors.Is(ran.err, context.Canceled) {
		t.Errorf("got %+v", ran)
	}
	if got := l.item("app"); got.Phase != "verify" {
		t.Errorf("got %+v", got)
	}
}

func TestEffectOfWhichNothingIsKnownFailsTheWork(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	f.run = func(ctx context.Context, w *Work) error {
		permit, _, err := w.Guard.Claim(ctx, lease.Intent{Key: "publish:app", Kind: "publish", Target: []byte(`{}`)})
		if err != nil {
			return err
		}
		_, _ = permit.Fire(ctx, func(context.Context) (json.RawMessage, error) { return nil, errors.New("timeout") })
		return nil // and believes that it went well
	}
	l := newLab(t, f)
	ran := l.run(t.Context(), l.due())
	if ran.outcomes()["app"] != lease.Retried || !strings.Contains(ran.ends[0].Err.Error(), "publish:app") {
		t.Errorf("got %+v", ran)
	}
}

// A consumer that ignores its context cannot hold the step; what it makes afterwards
// is not believed, and its lease is left to end by itself.
func TestConsumerThatDoesNotStopIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		a := &attempt{work: &Work{Guard: lease.NewGuard(nil, lease.Holder{})}}
		began := time.Now()
		stuck := make(chan struct{})
		time.AfterFunc(time.Minute, cancel)
		value, err := carry(ctx, a, func() (int, error) { <-stuck; return 1, nil })
		if value != 0 || !errors.Is(err, errStuck) {
			t.Errorf("got %d, %v", value, err)
		}
		if took := time.Since(began); took != time.Minute+obedience {
			t.Errorf("waited %s", took)
		}
		end := a.badly(ctx, err)
		if end.Outcome != lease.Lost || !errors.Is(end.Err, context.Canceled) {
			t.Errorf("got %+v", end)
		}
		close(stuck)
	})
}
