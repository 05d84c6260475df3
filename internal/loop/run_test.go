package loop

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestFailureEndsByItsClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		outcome lease.Outcome
		status  int
		state   string
		events  string
	}{
		"Transient":     {errors.New("reset by peer"), lease.Retried, 1, "queued", "created claimed retried"},
		"Blocked":       {lease.WithClass(lease.Blocked, errors.New("disk full")), lease.BlockedWait, 1, "queued", "created claimed retried"},
		"Permanent":     {lease.WithClass(lease.Permanent, errors.New("bad input")), lease.Failed, 1, "failed", "created claimed failed"},
		"Refuted":       {lease.WithClass(lease.Refuted, errors.New("only verify refutes")), lease.Retried, 1, "queued", "created claimed retried"},
		"Lost":          {lease.ErrLost, lease.Lost, 4, "leased", "created claimed"},
		"StoreRefused":  {lease.WithClass(lease.Blocked, &ledger.RefusedError{Reason: "another store"}), lease.BlockedWait, 6, "queued", "created claimed retried"},
		"StoreIsAway":   {lease.WithClass(lease.Blocked, &ledger.UnreachableError{Reason: "not mounted"}), lease.BlockedWait, 7, "queued", "created claimed retried"},
		"LedgerIsAway":  {&ledger.UnreachableError{Reason: "away"}, lease.Retried, 1, "queued", "created claimed retried"},
		"LostIsNoClass": {lease.WithClass(lease.Permanent, lease.ErrLost), lease.Lost, 4, "leased", "created claimed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake("demo", "app")
			f.run = func(context.Context, *Work) error { return c.err }
			l := newLab(t, f)
			ran := l.run(t.Context(), l.due())
			if ran.Status != c.status || ran.outcomes()["app"] != c.outcome || ran.err != nil || !errors.Is(ran.ends[0].Err, c.err) {
				t.Errorf("got %+v", ran)
			}
			if !strings.Contains(ran.out, `"outcome":"`+string(c.outcome)+`"`) {
				t.Errorf("printed %s", ran.out)
			}
			if got := l.item("app"); got.State != c.state || got.Phase != "run" || got.Events != c.events {
				t.Errorf("got %+v", got)
			}
			if verified := l.verify(t.Context(), ran.out); verified.Status != c.status || len(verified.ends) > 0 {
				t.Errorf("verify: got %+v", verified)
			}
		})
	}
}

func TestReasonsAreKeptShortAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	f.run = func(context.Context, *Work) error {
		return errors.New("dump postgres://u:hunter2@db/app\x00\xff: " + strings.Repeat("x", 1<<16))
	}
	l := newLab(t, f)
	ran := l.run(t.Context(), l.due())
	if ran.outcomes()["app"] != lease.Retried {
		t.Errorf("got %+v", ran.ends)
	}
	if got := l.item("app"); got.Error == "" || len(got.Error) > 4096 || strings.Contains(got.Error, "hunter2") {
		t.Errorf("the ledger keeps %q", got.Error)
	}
}

func TestResultThatTheLedgerCannotHoldIsPermanent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *lease.Result){
		"TooLong":       func(r *lease.Result) { r.Data = []byte(`"` + strings.Repeat("x", 1<<16) + `"`) },
		"NotJSON":       func(r *lease.Result) { r.Data = []byte(`{`) },
		"MarkerTooLong": func(r *lease.Result) { r.Marker = strings.Repeat("x", 1<<16+1) },
		"CoversNothing": func(r *lease.Result) { r.Ticket = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &bending{newFake("demo", "app"), change}
			l := newLab(t, f)
			ran := l.run(t.Context(), l.due())
			if ran.outcomes()["app"] != lease.Failed || ran.Status != StatusFailed {
				t.Errorf("got %+v", ran)
			}
		})
	}
}

// bending is a fake with other results.
type bending struct {
	*fake
	change func(r *lease.Result)
}

func (b *bending) Run(ctx context.Context, w *Work) (lease.Result, error) {
	result, err := b.fake.Run(ctx, w)
	b.change(&result)
	return result, err
}

func TestVerifyThatDiedIsTakenUpAndNothingIsRunTwice(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	l.run(t.Context(), l.due())
	l.expire()
	l.with(func(ctx context.Context, db *ledger.DB) {
		if reclaimed, err := Reclaim(ctx, db); err != nil || len(reclaimed) != 1 {
			t.Fatalf("reclaim: %v, %v", reclaimed, err)
		}
	})
	documents := l.claim(1)
	if !strings.Contains(documents, `"step":"verify"`) {
		t.Fatalf("claim: %s", documents)
	}
	ran := l.run(t.Context(), documents)
	if ran.Status != StatusDone || len(ran.ends) > 0 || !strings.HasPrefix(ran.out, strings.SplitAfter(documents, "\n")[0]) {
		t.Fatalf("run: %+v", ran)
	}
	if verified := l.verify(t.Context(), ran.out); verified.outcomes()["app"] != lease.Covered {
		t.Errorf("verify: %+v", verified)
	}
	if got, _ := f.times(1); got != 1 {
		t.Errorf("ran %d times", got)
	}
}

func TestDocumentReadTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	documents := l.due()
	document := strings.SplitAfter(documents, "\n")[0]
	first := l.run(t.Context(), document+document+`{"end":"claim","items":2,"status":0}`)
	if first.Status != StatusLost || len(first.ends) != 2 {
		t.Errorf("twice in one step: %+v", first)
	}
	if got, _ := f.times(1); got != 1 {
		t.Errorf("ran %d times", got)
	}
	second := l.run(t.Context(), documents)
	if second.Status != StatusLost || second.outcomes()["app"] != lease.Lost {
		t.Errorf("once more: %+v", second)
	}
	if got, _ := f.times(1); got != 1 {
		t.Errorf("ran %d times", got)
	}
}

func TestForgedDocumentIsLostAndChangesNothing(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string][2]string{
		"Fence": {`"fence":"1:`, `"fence":"1:9`},
		"Epoch": {`"fence":"1:`, `"fence":"2:`},
		"Owner": {`"owner":"h1:`, `"owner":"h2:`},
		"Item":  {`"item":`, `"item":9`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake("demo", "app")
			l := newLab(t, f)
			documents := l.due()
			before := l.item("app")
			ran := l.run(t.Context(), changed(t, documents, forge[0], forge[1]))
			if ran.Status != StatusLost || ran.err != nil || len(ran.ends) != 1 || ran.ends[0].Outcome != lease.Lost {
				t.Errorf("got %+v", ran)
			}
			after := l.item("app")
			if after.State != "leased" || after.Owner != before.Owner || after.Started || after.Events != before.Events {
				t.Errorf("got %+v, want %+v", after, before)
			}
			if got, _ := f.times(1); got != 0 {
				t.Error("it ran")
			}
			if ran := l.run(t.Context(), documents); ran.Status != StatusDone {
				t.Errorf("the true document: %+v", ran)
			}
		})
	}
	t.Run("Step", func(t *testing.T) {
		t.Parallel()
		f := newFake("demo", "app")
		l := newLab(t, f)
		forged := changed(t, l.due(), `"step":"run"`, `"step":"verify"`)
		if verified := l.verify(t.Context(), l.run(t.Context(), forged).out); verified.Status != StatusLost {
			t.Errorf("got %+v", verified)
		}
		if got := l.item("app"); got.Phase != "run" || got.Covered != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("Rest", func(t *testing.T) {
		t.Parallel()
		f := newFake("demo", "app", "other")
		f.run = func(_ context.Context, w *Work) error {
			if w.Scope != "app" || w.Marker != "m1" || string(w.Payload) != "{}" {
				return lease.WithClass(lease.Permanent, errors.New("the document was believed"))
			}
			return nil
		}
		l := newLab(t, f)
		l.tick(TickOptions{Scope: "app"})
		forged := changed(t, changed(t, changed(t, l.claim(1), `"scope":"app"`, `"scope":"other"`),
			`"marker":"m1"`, `"marker":"m9"`), `"payload":{}`, `"payload":{"x":1}`)
		if ran := l.run(t.Context(), forged); ran.Status != StatusDone {
			t.Errorf("got %+v", ran)
		}
	})
}

func TestTruncatedStreamIsDoneAndTold(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)
	documents := l.due()
	cut := strings.SplitAfter(documents, "\n")[0]
	ran := l.run(t.Context(), cut)
	if ran.Status != StatusFailed || ran.outcomes()["app"] != lease.Ran {
		t.Errorf("got %+v", ran)
	}
	var fault *StreamError
	if !errors.As(ran.err, &fault) || fault.Item != 1 || fault.Until.IsZero() {
		t.Errorf("got %v", ran.err)
	}
	if !strings.HasSuffix(ran.out, `{"end":"run","items":1,"status":1}`+"\n") {
		t.Errorf("printed %s", ran.out)
	}
	if verified := l.verify(t.Context(), ran.out); verified.Status != StatusFailed || verified.outcomes()["app"] != lease.Covered {
		t.Errorf("verify: %+v", verified)
	}
}

func TestDocumentsOfUnknownThingsHoldBackNoOther(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b", "c")
	l := newLab(t, f)
	documents := changed(t, changed(t, l.due(), `"scope":"a"`, `"scope":"z"`), `"work_type":"demo","scope":"b"`, `"work_type":"other","scope":"b"`)
	ran := l.run(t.Context(), documents)
	if ran.Status != StatusFailed || len(ran.ends) != 1 || ran.outcomes()["c"] != lease.Ran {
		t.Errorf("got %+v", ran)
	}
	for _, want := range []string{`scope "z" of demo is not in this host's configuration`, `work type "other" is not in this host's configuration`, "leased until 20"} {
		if !strings.Contains(ran.err.Error(), want) {
			t.Errorf("%q is not in %v", want, ran.err)
		}
	}
	if verified := l.verify(t.Context(), documents); verified.Status != StatusFailed || !strings.Contains(verified.err.Error(), "has not run yet") {
		t.Errorf("verify: %+v", verified)
	}
}

// A document is routed by what it says, and judged by what the row says.
func TestRowOfAnUnknownScopeIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app", "other")
	l := newLab(t, f)
	l.tick(TickOptions{Scope: "other"})
	documents := changed(t, l.claim(1), `"scope":"other"`, `"scope":"app"`)
	f.scopes = f.scopes[:1]
	ran := l.run(t.Context(), documents)
	if ran.Status != StatusFailed || ran.outcomes()["other"] != lease.GivenBack {
		t.Errorf("got %+v", ran)
	}
	if got := l.item("other"); got.State != "queued" || got.Events != "created claimed given_back" {
		t.Errorf("got %+v", got)
	}
}

func TestSeveralInputsAreOneStep(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b")
	l := newLab(t, f)
	l.tick(TickOptions{})
	one, two := l.claim(1), l.claim(1)
	var out strings.Builder
	inputs := []Input{{"one", strings.NewReader(one)}, {"two", strings.NewReader(two + "rest\n")}}
	summary, err := Run(t.Context(), l.open, l.consumers, inputs, &out, StepOptions{Host: "h1"})
	if summary.Items != 2 || summary.Status != StatusFailed || err == nil || !strings.Contains(err.Error(), "read two line 3: not a lease document") {
		t.Errorf("got %+v, %v", summary, err)
	}
	if got := out.String(); !strings.HasSuffix(got, `{"end":"run","items":2,"status":1}`+"\n") {
		t.Errorf("printed %s", got)
	}
}

func TestStatusFromUpstreamReachesTheEndWithoutALedger(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, consumers: []Consumer{newFake("demo", "app")}, conninfo: "host=/nowhere"}
	ran := l.run(t.Context(), `{"end":"claim","items":0,"status":7}`)
	if ran.Status != StatusUnreachable || ran.err != nil || ran.out != `{"end":"run","items":0,"status":7}`+"\n" {
		t.Errorf("got %+v", ran)
	}
	if verified := l.verify(t.Context(), ran.out); verified.Status != StatusUnreachable {
		t.Errorf("verify: %+v", verified)
	}
}

func TestUnfitLedgerLeavesTheLeasesAlone(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b")
	l := newLab(t, f)
	documents := l.due()
	l.exec(`UPDATE heyaira_loop.ledger_identity SET timeline = 'FFFFFFFF'`)
	ran := l.run(t.Context(), documents)
	if ran.Status != StatusRefused || !errors.Is(ran.err, ledger.ErrRefused) || !strings.Contains(ran.err.Error(), "leased until") || !strings.Contains(ran.err.Error(), "and 1 more") {
		t.Errorf("refused: %+v", ran)
	}
	if ran.out != `{"end":"run","items":0,"status":6}`+"\n" {
		t.Errorf("refused: printed %s", ran.out)
	}
	if got := l.item("a"); got.State != "leased" || got.Started {
		t.Errorf("got %+v", got)
	}
	l.conninfo = "host=/nowhere user=x dbname=x"
	if ran := l.run(t.Context(), documents); ran.Status != StatusUnreachable || !errors.Is(ran.err, ledger.ErrUnreachable) {
		t.Errorf("unreachable: %+v", ran)
	}
}

func TestSlowTypeHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	slow, quick := newFake("slow", "s1", "s2"), newFake("quick", "q1", "q2")
	proceed := make(chan struct{})
	slow.run = func(context.Context, *Work) error { <-proceed; return nil }
	l := newLab(t, slow, quick)
	documents := l.due()
	reader, out := io.Pipe()
	done := make(chan stepped, 1)
	go func() {
		done <- l.runTo(context.WithoutCancel(t.Context()), strings.NewReader(documents), out, 1)
		out.Close()
	}()
	stream := newStream(Input{"run", reader})
	for range 2 {
		document, err := stream.next()
		if err != nil || document.WorkType != "quick" {
			t.Fatalf("got %+v, %v", document, err)
		}
	}
	close(proceed)
	for range 2 {
		if document, err := stream.next(); err != nil || document.WorkType != "slow" {
			t.Fatalf("got %+v, %v", document, err)
		}
	}
	if _, err := stream.next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	if ran := <-done; ran.Status != StatusDone {
		t.Errorf("got %+v", ran)
	}
}

func TestParallelItemsOfOneType(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b", "c")
	inside := make(chan string)
	proceed := make(chan struct{})
	f.run = func(_ context.Context, w *Work) error { inside <- w.Scope; <-proceed; return nil }
	l := newLab(t, f)
	documents := l.due()
	done := make(chan stepped, 1)
	go func() {
		done <- l.runTo(context.WithoutCancel(t.Context()), strings.NewReader(documents), io.Discard, 2)
	}()
	<-inside
	<-inside
	select {
	case scope := <-inside:
		t.Errorf("%s works as a third", scope)
	case <-time.After(50 * time.Millisecond):
	}
	close(proceed)
	<-inside
	if ran := <-done; ran.Status != StatusDone {
		t.Errorf("got %+v", ran)
	}
}

func TestResultOutlivesAReaderThatWentAway(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "a", "b")
	l := newLab(t, f)
	reader, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer out.Close()
	ran := l.runTo(t.Context(), strings.NewReader(l.due()), out, 1)
	if ran.Status != StatusFailed || ran.err == nil || strings.Count(ran.err.Error(), "broken pipe") != 1 {
		t.Errorf("got %+v", ran)
	}
	for _, scope := range []string{"a", "b"} {
		if ran.outcomes()[scope] != lease.GivenBack {
			t.Errorf("%s: got %s", scope, ran.outcomes()[scope])
		}
		if got := l.item(scope); got.State != "queued" || got.Phase != "verify" || got.RunIn > 0 {
			t.Errorf("%s: got %+v", scope, got)
		}
	}
	if verified := l.verify(t.Context(), l.run(t.Context(), l.claim(10)).out); verified.Status != StatusDone || len(verified.ends) != 2 {
		t.Errorf("verify: %+v", verified)
	}
	for item := range int64(2) {
		if ran, proved := f.times(item + 1); ran != 1 || proved != 1 {
			t.Errorf("item %d ran %d times and was proven %d times", item+1, ran, proved)
		}
	}
}

// A reader that died after documents stood in the pipe has read none of them: all are
// given back, also those that were passed through.
func TestDocumentsLeftInAPipeAreGivenBack(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "passed", "done", "broken")
	l := newLab(t, f)
	l.tick(TickOptions{})
	l.run(t.Context(), l.claimScope("passed"))
	l.expire()
	l.with(func(ctx context.Context, db *ledger.DB) {
		if _, err := Reclaim(ctx, db); err != nil {
			t.Fatal(err)
		}
	})
	documents := l.claim(10)
	out := &failing{after: 2}
	ran := l.runTo(t.Context(), strings.NewReader(documents), out, 1)
	if ran.Status != StatusFailed {
		t.Errorf("got %+v", ran)
	}
	for _, scope := range []string{"passed", "done", "broken"} {
		if got := l.item(scope); got.State != "queued" || got.Phase != "verify" {
			t.Errorf("%s: got %+v", scope, got)
		}
	}
}

// failing is a pipe whose reader dies after some lines.
type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after == 0 {
		return 0, os.ErrClosed
	}
	f.after--
	return len(p), nil
}
