package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// words are ensure's answers by scope.
func words(report TickReport) map[string]ledger.Word {
	all := map[string]ledger.Word{}
	for _, scope := range report.Scopes {
		for _, answer := range scope.Answers {
			all[scope.Scope] = answer.Word
		}
	}
	return all
}

func news(report TickReport, scope string) []News {
	for _, one := range report.Scopes {
		if one.Scope == scope {
			return one.News
		}
	}
	return nil
}

// cover takes every scope through the loop.
func (l *lab) cover() {
	l.t.Helper()
	ran := l.run(context.Background(), l.due())
	if verified := l.verify(context.Background(), ran.out); verified.Status != StatusDone || verified.err != nil {
		l.t.Fatalf("cover: %+v", verified)
	}
}

func TestIdleTickIsOneTurnAndTheBeat(t *testing.T) {
	t.Parallel()
	for _, scopes := range []int{1, 40} {
		t.Run(fmt.Sprint(scopes), func(t *testing.T) {
			t.Parallel()
			var names []string
			for i := range scopes {
				names = append(names, fmt.Sprintf("s%d", i))
			}
			l := newLab(t, newFake("demo", names...))
			l.cover()
			p := l.proxied()
			if got := p.count(t, func() { l.tick(TickOptions{}) }); got != 2 {
				t.Errorf("idle tick took %d turns, want 2", got)
			}
		})
	}
}

func TestHungOrFailingObserverHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "hung", "failing", "deaf", "well")
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	var answering, well atomic.Bool
	f.look = func(ctx context.Context, head ledger.Head) ([]ledger.Observation, error) {
		if well.Load() || answering.Load() && head.Scope != "failing" {
			return []ledger.Observation{{Marker: "m"}}, nil
		}
		switch head.Scope {
		case "hung": // and does not obey
			<-hang
		case "deaf": // obeys
			<-ctx.Done()
			return nil, ctx.Err()
		case "failing":
			return nil, errors.New("connect to postgres://u:hunter2@db/app: refused")
		}
		return []ledger.Observation{{Marker: "m"}}, nil
	}
	l := newLab(t, f)
	report := l.tick(TickOptions{Timeout: 10 * time.Second})
	if got := words(report); len(got) != 1 || got["well"] != ledger.Created {
		t.Errorf("got words %v", got)
	}
	if report.Status() != StatusFailed {
		t.Errorf("got status %d", report.Status())
	}
	if report.Took > 12*time.Second {
		t.Errorf("took %s", report.Took)
	}
	for _, scope := range []string{"hung", "failing", "deaf"} {
		if got := news(report, scope); !slices.Equal(got, []News{Unobservable}) {
			t.Errorf("%s: got news %v", scope, got)
		}
	}
	if n := l.count(`SELECT count(*) FROM heyaira_loop.scope WHERE observe_error IS NOT NULL`); n != 3 {
		t.Errorf("%d scopes bear an error, want 3", n)
	}
	if n := l.count(`SELECT count(*) FROM heyaira_loop.scope WHERE observe_error LIKE '%hunter2%'`); n != 0 {
		t.Error("a password stands in the ledger")
	}

	answering.Store(true)
	if got := news(l.tick(TickOptions{}), "failing"); len(got) != 0 {
		t.Errorf("told again: %v", got)
	}
	well.Store(true)
	report = l.tick(TickOptions{})
	if got := news(report, "failing"); !slices.Equal(got, []News{Recovered}) || report.Status() != StatusDone {
		t.Errorf("got news %v, status %d", got, report.Status())
	}
	if got := news(l.tick(TickOptions{}), "failing"); len(got) != 0 {
		t.Errorf("told again: %v", got)
	}
}

func TestTickEndsInTimeHoweverManyObserversHang(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 3 * observers {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	f := newFake("demo", names...)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	f.look = func(context.Context, ledger.Head) ([]ledger.Observation, error) { <-hang; return nil, nil }
	l := newLab(t, f)
	report := l.tick(TickOptions{Timeout: 10 * time.Second})
	for _, scope := range report.Scopes {
		if !errors.Is(scope.Err, errTickOver) {
			t.Errorf("%s: got %v", scope.Scope, scope.Err)
		}
	}
	if report.Took > 12*time.Second {
		t.Errorf("took %s", report.Took)
	}
}

func TestRefusedObservationHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "big", "well")
	f.change("big", strings.Repeat("x", 1<<17))
	l := newLab(t, f)
	report := l.tick(TickOptions{})
	if got := words(report)["well"]; got != ledger.Created {
		t.Errorf("well: got %q", got)
	}
	if report.Status() != StatusFailed || !slices.Equal(news(report, "big"), []News{Unobservable}) {
		t.Errorf("got status %d, news %v", report.Status(), news(report, "big"))
	}
}

func TestNowMakesWorkOfWhatIsCovered(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app", "other")
	l := newLab(t, f)
	l.cover()
	report := l.tick(TickOptions{Now: true, Scope: "app"})
	if got := words(report); len(got) != 1 || got["app"] != ledger.Created {
		t.Errorf("got %v", got)
	}
	if !strings.Contains(l.claim(1), `"scope":"app"`) {
		t.Error("the work cannot be claimed at once")
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	report := l.tick(TickOptions{DryRun: true})
	if got := report.Scopes[0]; got.Due != 1 || len(got.Answers) > 0 {
		t.Errorf("got %+v", got)
	}
	for _, table := range []string{"scope", "work_type", "work_item", "work_event", "beat", "policy_seen"} {
		if n := l.count(`SELECT count(*) FROM heyaira_loop.` + table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	l.cover()
	if got := l.tick(TickOptions{DryRun: true}).Scopes[0]; got.Due != 0 {
		t.Errorf("idle: got %+v", got)
	}
}

func TestUnknownNamesAreUsageErrors(t *testing.T) {
	t.Parallel()
	l := newLab(t, newFake("demo", "app", "billing"))
	for _, o := range []TickOptions{{Scope: "ap"}, {WorkType: "dem"}, {WorkType: "demo", Scope: "none"}} {
		l.with(func(ctx context.Context, db *ledger.DB) {
			_, err := Tick(ctx, db, l.consumers, o)
			var unknown *UnknownError
			if !errors.As(err, &unknown) || unknown.Hint() == "" {
				t.Errorf("tick %+v: got %v", o, err)
			}
			_, err = Claim(ctx, db, l.consumers, ClaimOptions{WorkType: o.WorkType, Scope: o.Scope})
			if !errors.As(err, &unknown) {
				t.Errorf("claim %+v: got %v", o, err)
			}
		})
	}
}

func TestOverdueIsToldOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, newFake("demo", "app"))
	l.tick(TickOptions{})
	l.exec(`UPDATE heyaira_loop.scope SET uncovered_since = statement_timestamp() - interval '1 hour'`)
	l.exec(`UPDATE heyaira_loop.beat SET ticked_at = statement_timestamp() - interval '1 minute'`)
	if got := news(l.tick(TickOptions{}), "app"); !slices.Equal(got, []News{Overdue}) {
		t.Errorf("got %v", got)
	}
	if got := news(l.tick(TickOptions{}), "app"); len(got) != 0 {
		t.Errorf("told again: %v", got)
	}
}

func TestPolicyIsRegisteredWhenItChanges(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	l.tick(TickOptions{})
	f.policy.MaxRunning = 3
	l.tick(TickOptions{})
	if n := l.count(`SELECT max_running FROM heyaira_loop.work_type WHERE name = 'demo'`); n != 3 {
		t.Errorf("the ledger has max_running %d, want 3", n)
	}
	f.scopes = append(f.scopes, ledger.Scope{Key: "new"})
	f.change("new", "m")
	if got := words(l.tick(TickOptions{}))["new"]; got != ledger.Created {
		t.Errorf("new scope: got %q", got)
	}
}

func TestInterruptedTickBlamesNoObserver(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	ctx, cancel := context.WithCancel(t.Context())
	f.look = func(ctx context.Context, _ ledger.Head) ([]ledger.Observation, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	l := newLab(t, f)
	l.with(func(_ context.Context, db *ledger.DB) {
		if _, err := Tick(ctx, db, l.consumers, TickOptions{Host: "h1"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	if n := l.count(`SELECT count(*) FROM heyaira_loop.scope WHERE observe_error IS NOT NULL`); n != 0 {
		t.Error("the interruption stands as the observer's error")
	}
}

func TestStoreIsAskedBeforeAnEmptyLedgerIsBelieved(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "same", "changed", "none", "down")
	asked := map[string]int{}
	down := true
	r := &remembering{fake: f, recall: func(_ context.Context, scope string, _ ledger.Identity) (*ledger.Cover, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		asked[scope]++
		cover := &ledger.Cover{WorkType: "demo", Scope: scope, Generation: lease.NewSerial(1, 5), Marker: "m1", TakenAt: time.Now(), Fence: lease.NewSerial(1, 9)}
		switch {
		case scope == "none":
			return nil, nil
		case scope == "changed":
			cover.Marker = "m0"
		case scope == "down" && down:
			return nil, errors.New("no route to host")
		}
		return cover, nil
	}}
	l := newLab(t, r)
	report := l.tick(TickOptions{})
	if got := words(report); len(got) != 2 || got["changed"] != ledger.Created || got["none"] != ledger.Created {
		t.Errorf("got %v", got)
	}
	if !slices.Equal(news(report, "down"), []News{Unobservable}) {
		t.Errorf("down: got %v", news(report, "down"))
	}
	down = false
	if got := words(l.tick(TickOptions{})); got["down"] != "" {
		t.Errorf("work was made of what the store has: %v", got)
	}
	l.tick(TickOptions{})
	for scope, want := range map[string]int{"same": 1, "changed": 1, "none": 1, "down": 2} {
		if asked[scope] != want {
			t.Errorf("%s: the store was asked %d times, want %d", scope, asked[scope], want)
		}
	}
	if n := l.count(`SELECT count(*) FROM heyaira_loop.coverage WHERE marker = 'm1'`); n != 2 {
		t.Errorf("%d scopes are covered from the store, want 2", n)
	}
}

func TestSplayIsTheSamePartForAHost(t *testing.T) {
	t.Parallel()
	parts := map[time.Duration]bool{}
	for i := range 20 {
		host := fmt.Sprintf("db%d", i)
		d := part(time.Minute, host)
		if d < 0 || d >= time.Minute || d != part(time.Minute, host) {
			t.Errorf("%s waits %s", host, d)
		}
		parts[d] = true
	}
	if len(parts) < 15 {
		t.Errorf("20 hosts share %d parts", len(parts))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := splay(ctx, time.Hour, "db1"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
}
