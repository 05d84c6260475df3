package loop

import (
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestOneChangeIsOnePieceOfWork(t *testing.T) {
	t.Parallel()
	f := newFake("demo", "app")
	l := newLab(t, f)

	report := l.tick(TickOptions{})
	if got := report.Scopes[0]; got.Due != 1 || got.Answers[0].Word != ledger.Created || report.Status() != StatusDone {
		t.Fatalf("first tick: %+v", got)
	}
	if got := l.tick(TickOptions{}).Scopes[0]; got.Answers[0].Word != ledger.Duplicate {
		t.Errorf("second tick: %+v", got)
	}
	documents := l.claim(1)
	if !strings.HasSuffix(documents, `{"end":"claim","items":1,"status":0}`+"\n") || strings.Count(documents, "\n") != 2 {
		t.Fatalf("claim: %s", documents)
	}
	ran := l.run(t.Context(), documents)
	if ran.err != nil || ran.Status != StatusDone || ran.Items != 1 || ran.outcomes()["app"] != lease.Ran {
		t.Fatalf("run: %+v", ran)
	}
	if !strings.Contains(ran.out, `"step":"verify"`) || !strings.Contains(ran.out, `"outcome":"ran"`) ||
		!strings.HasSuffix(ran.out, `{"end":"run","items":1,"status":0}`+"\n") {
		t.Errorf("run: %s", ran.out)
	}
	if got := l.item("app"); got.State != "leased" || got.Phase != "verify" || got.Covered != "" {
		t.Errorf("after run: %+v", got)
	}
	verified := l.verify(t.Context(), ran.out)
	if verified.err != nil || verified.Status != StatusDone || verified.outcomes()["app"] != lease.Covered {
		t.Fatalf("verify: %+v", verified)
	}
	if got := l.item("app"); got.State != "done" || got.Covered != "m1" || got.Evidence != `{"level":"hash"}` ||
		got.Events != "created claimed ran done" {
		t.Errorf("after verify: %+v", got)
	}
	if got := l.tick(TickOptions{}).Scopes[0]; got.Due != 0 || len(got.News) > 0 {
		t.Errorf("idle tick: %+v", got)
	}
	if got := l.claim(1); got != `{"end":"claim","items":0,"status":0}`+"\n" {
		t.Errorf("idle claim: %s", got)
	}
	f.change("app", "m2")
	if got := l.tick(TickOptions{}).Scopes[0]; got.Answers[0].Word != ledger.Created {
		t.Errorf("tick after a change: %+v", got)
	}
}
