package loop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestRefutedResultIsDroppedAndRunStartsOver(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	f.verify = func(context.Context, *Work) error { return lease.WithClass(lease.Refuted, errors.New("hash differs")) }
	l := newLab(t, f)
	verified := l.verify(t.Context(), l.run(t.Context(), l.due()).out)
	if verified.Status != StatusRefuted || verified.outcomes()["app"] != lease.RefutedNow {
		t.Errorf("got %+v", verified)
	}
	if got := l.item("app"); got.State != "queued" || got.Phase != "run" || got.Result != "" || got.Covered != "" {
		t.Errorf("got %+v", got)
	}
	f.verify = nil
	l.exec(`UPDATE heyaira_loop.work_item SET run_at = statement_timestamp()`)
	if verified := l.verify(t.Context(), l.run(t.Context(), l.claim(1)).out); verified.outcomes()["app"] != lease.Covered {
		t.Errorf("second: %+v", verified)
	}
	if ran, _ := f.times(1); ran != 2 {
		t.Errorf("ran %d times", ran)
	}
}

func TestRefutedAtTheCeilingIsStillAFailedProof(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	f.policy.MaxFailures = 1
	f.verify = func(context.Context, *Work) error { return lease.WithClass(lease.Refuted, errors.New("hash differs")) }
	l := newLab(t, f)
	verified := l.verify(t.Context(), l.run(t.Context(), l.due()).out)
	if verified.Status != StatusRefuted || verified.outcomes()["app"] != lease.Quarantined {
		t.Errorf("got %+v", verified)
	}
}

func TestFailedProofKeepsTheResult(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	f.verify = func(context.Context, *Work) error { return errors.New("store is away") }
	l := newLab(t, f)
	verified := l.verify(t.Context(), l.run(t.Context(), l.due()).out)
	if verified.Status != StatusFailed || verified.outcomes()["app"] != lease.Retried || verified.ends[0].Again.IsZero() {
		t.Errorf("got %+v", verified)
	}
	if got := l.item("app"); got.State != "queued" || got.Phase != "verify" || got.Result == "" || got.Covered != "" {
		t.Errorf("got %+v", got)
	}
}

func TestVerifyIsGivenWhatRunRecorded(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	var seen lease.Result
	l := newLab(t, f)
	documents := l.run(t.Context(), l.due()).out
	f.change("app", "m2")
	f.verify = func(_ context.Context, w *Work) error { seen = w.Result; return nil }
	l.verify(t.Context(), changed(t, documents, `"marker":"m1","ticket"`, `"marker":"m9","ticket"`))
	if seen.Marker != "m1" || string(seen.Data) != `{"size":1}` || seen.Ticket == 0 || seen.TakenAt.IsZero() {
		t.Errorf("got %+v", seen)
	}
	if got := l.item("app"); got.Covered != "m1" {
		t.Errorf("covered %q", got.Covered)
	}
}

// What waits its turn in verify is renewed for as long as it takes.
func TestWaitingDocumentIsRenewed(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b")
	f.policy.LeaseTTL = 4 * time.Second
	l := newLab(t, f)
	f.verify = func(ctx context.Context, w *Work) error {
		if w.Item.Item != 1 {
			return nil
		}
		// Both leases would have ended by now without renewals.
		select {
		case <-time.After(3 * f.policy.LeaseTTL / 2):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	verified := l.verify(t.Context(), l.run(t.Context(), l.due()).out)
	if got := verified.outcomes(); got["a"] != lease.Covered || got["b"] != lease.Covered {
		t.Errorf("got %+v", verified)
	}
}

func TestDocumentThatWaitsItsWholeLeaseInRunIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b")
	f.policy.LeaseTTL = 4 * time.Second
	l := newLab(t, f)
	told := make(chan End, 2)
	f.run = func(ctx context.Context, w *Work) error {
		select {
		case other := <-told: // the first to end is not the one that works
			if other.Outcome != lease.GivenBack {
				return errors.New(string(other.Outcome))
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	var ran Summary
	var out strings.Builder
	ran, err := Run(t.Context(), l.open, l.consumers, []Input{{"stdin", strings.NewReader(l.due())}}, &out, StepOptions{
		Host: "h1", Ended: func(e End) { told <- e },
	})
	if err != nil || ran.Status != StatusDone || !strings.Contains(out.String(), `"outcome":"given_back"`) || !strings.Contains(out.String(), `"outcome":"ran"`) {
		t.Errorf("got %+v, %v: %s", ran, err, out.String())
	}
	if n := l.count(`SELECT count(*) FROM heyaira_loop.work_item WHERE state = 'queued' AND phase = 'run' AND crashes = 0`); n != 1 {
		t.Errorf("%d items are queued again, want 1", n)
	}
}

func TestLostLeaseStopsTheWorkAndRecordsNothing(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	f.policy.LeaseTTL = 4 * time.Second
	l := newLab(t, f)
	documents := l.due()
	var cause error
	f.run = func(ctx context.Context, w *Work) error {
		l.exec(`UPDATE heyaira_loop.work_item SET owner = 'h2:1:ffffffffffffffff'`) // another holder
		<-ctx.Done()
		cause = context.Cause(ctx)
		return nil // and believes that it went well
	}
	ran := l.run(t.Context(), documents)
	if ran.Status != StatusLost || ran.outcomes()["app"] != lease.Lost || !errors.Is(cause, lease.ErrLost) {
		t.Errorf("got %+v, cause %v", ran, cause)
	}
	if got := l.item("app"); got.State != "leased" || got.Phase != "run" || got.Events != "created claimed" {
		t.Errorf("got %+v", got)
	}
}

func TestWorkIsCutOffAtItsLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout, stall time.Duration
		reason         string
	}{
		"Timeout": {200 * time.Millisecond, 0, "not done within its timeout of 200ms"},
		"Stall":   {0, 200 * time.Millisecond, "stalled: nothing moved for 200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake("demo", "app")
			f.policy.Limits = func(string) (time.Duration, time.Duration) { return c.timeout, c.stall }
			f.run = func(ctx context.Context, w *Work) error {
				w.Report("dump", 1)
				<-ctx.Done()
				return errors.New("pg_dump: terminated")
			}
			l := newLab(t, f)
			ran := l.run(t.Context(), l.due())
			if ran.Status != StatusFailed || ran.outcomes()["app"] != lease.Retried {
				t.Errorf("got %+v", ran)
			}
			if got := l.item("app"); !strings.Contains(got.Error, c.reason) || got.Failures != 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReportedProgressIsNoStall(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	const stall = 2 * time.Second
	f.policy.Limits = func(string) (time.Duration, time.Duration) { return 0, stall }
	f.run = func(ctx context.Context, w *Work) error {
		began := time.Now()
		for bytes := int64(1); ctx.Err() == nil && time.Since(began) < 3*stall/2; bytes++ {
			w.Report("dump", bytes)
			<-time.After(10 * time.Millisecond)
		}
		return context.Cause(ctx)
	}
	l := newLab(t, f)
	var last int64
	var out strings.Builder
	summary, err := Run(t.Context(), l.open, l.consumers, []Input{{"stdin", strings.NewReader(l.due())}}, &out, StepOptions{
		Host: "h1", Progress: func(item lease.Item, stage string, bytes int64) { last = bytes },
	})
	if err != nil || summary.Status != StatusDone || last < 10 {
		t.Errorf("got %+v, %v after %d reports", summary, err, last)
	}
}

func TestLedgerThatWasAwayForAWhileCostsNoWork(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	documents := l.due()
	p := l.proxied()
	f.run = func(ctx context.Context, w *Work) error {
		p.cut()
		time.AfterFunc(1500*time.Millisecond, p.mend) // longer than a statement is tried
		return nil
	}
	ran := l.run(t.Context(), documents)
	if ran.Status != StatusDone || ran.outcomes()["app"] != lease.Ran {
		t.Errorf("run: %+v", ran)
	}
	f.verify = f.run
	if verified := l.verify(t.Context(), ran.out); verified.outcomes()["app"] != lease.Covered {
		t.Errorf("verify: %+v", verified)
	}
}

func TestWorkKnowsItsLedger(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	var failed []string
	expect := func(ok bool, what string) {
		if !ok {
			failed = append(failed, what)
		}
	}
	f.run = func(ctx context.Context, w *Work) error {
		expect(w.Ledger.ID != "" && w.Ledger.Environment == "test", "identity")
		expect(w.Check(ctx) == nil, "check")
		knows, err := w.Knows(ctx, w.Item.Item, w.Head)
		expect(knows && err == nil, "knows its own head")
		knows, err = w.Knows(ctx, w.Item.Item+1, w.Head)
		expect(!knows && err == nil, "knows another's")
		const id = "0b0a4ac2-55a6-4b0f-9cf5-5d3f6f9b2c11"
		_, known, err := w.KnownStore(ctx, "local")
		expect(!known && err == nil, "store before")
		expect(w.RememberStore(ctx, "local", id) == nil, "remember")
		got, known, err := w.KnownStore(ctx, "local")
		expect(known && got == id && err == nil, "store after")
		w.Report("dump", 17)
		expect(w.Check(ctx) == nil, "check after report")
		expect(l.count(`SELECT count(*) FROM heyaira_loop.work_item WHERE progress_bytes = 17 AND progress_stage = 'dump'`) == 1, "progress")
		l.expire()
		expect(errors.Is(w.Check(ctx), lease.ErrLost), "check of an expired lease")
		return nil
	}
	ran := l.run(t.Context(), l.due())
	if len(failed) > 0 || ran.outcomes()["app"] != lease.Lost {
		t.Errorf("failed: %v; %+v", failed, ran)
	}
}

func TestReclaimTakesMoreThanOneBatch(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	f.policy.Coalesces = false
	f.look = func(context.Context, ledger.Head) ([]ledger.Observation, error) {
		var all []ledger.Observation
		for i := range reclaimBatch + 10 {
			all = append(all, ledger.Observation{Key: "k" + strings.Repeat("x", i%7) + time.Duration(i).String()})
		}
		return all, nil
	}
	l := newLab(t, f)
	l.tick(TickOptions{})
	l.claim(reclaimBatch + 10)
	l.expire()
	l.with(func(ctx context.Context, db *ledger.DB) {
		reclaimed, err := Reclaim(ctx, db)
		if err != nil || len(reclaimed) != reclaimBatch+10 {
			t.Errorf("got %d, %v", len(reclaimed), err)
		}
	})
}
