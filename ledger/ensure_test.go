package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

// One logical change is one piece of work, whatever word a tick hears.
func TestEnsureAnswersEveryWordOfCoalescingWork(t *testing.T) {
	t.Parallel()
	forced := func(marker string) ledger.Observation {
		o := saw(marker)
		o.Forced = true
		return o
	}
	tests := []struct {
		name string
		word ledger.Word
		made int // items after it
		got  func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer
	}{
		{"Created", ledger.Created, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			return observe(t, db, saw("a"))
		}},
		{"DuplicateOfQueued", ledger.Duplicate, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			return observe(t, db, saw("a"))
		}},
		{"DuplicateInOneCall", ledger.Duplicate, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			answers := observe(t, db, saw("a"), saw("b"))
			if got := ask[string](t, l, "SELECT observed_marker FROM heyaira_loop.work_item"); got != "b" {
				t.Errorf("the item is for %s, want the last observation", got)
			}
			return answers[:1]
		}},
		{"Advanced", ledger.Advanced, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			return observe(t, db, saw("b"))
		}},
		{"RunningWhenLeased", ledger.Running, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			claimOne(t, db, backups, "app")
			return observe(t, db, saw("b"))
		}},
		{"RunningWhenItWaitsForVerify", ledger.Running, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			ticket, now, _ := db.Ticket(t.Context())
			item := finish(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Result{Marker: "a", Ticket: ticket, TakenAt: now})
			fail(t, db, item, lease.Transient, "later")
			return observe(t, db, saw("b"))
		}},
		{"Covered", ledger.Covered, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			cover(t, db, "a")
			return observe(t, db, saw("a"))
		}},
		{"CoveredWhileAnotherIsQueued", ledger.Covered, 2, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			cover(t, db, "a")
			observe(t, db, saw("b"))
			return observe(t, db, saw("a"))
		}},
		{"ReturningMarkerIsNewWork", ledger.Created, 3, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			cover(t, db, "a")
			cover(t, db, "b")
			return observe(t, db, saw("a"))
		}},
		{"UncoveredMarkerIsNewWork", ledger.Created, 2, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			cover(t, db, "a")
			if did, err := db.Uncover(t.Context(), backups, "app", lease.NewSerial(1, 1), "rotten"); err != nil || !did {
				t.Fatalf("uncover: %v, %v", did, err)
			}
			return observe(t, db, saw("a"))
		}},
		{"StaleAfterANewerCover", ledger.Stale, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			late, _, _ := db.Ticket(t.Context())
			cover(t, db, "b")
			return ensure(t, db, late, saw("a"))
		}},
		{"StaleAfterANewerLook", ledger.Stale, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			late, _, _ := db.Ticket(t.Context())
			observe(t, db, saw("b"))
			return ensure(t, db, late, saw("a"))
		}},
		{"FailedStaysFailed", ledger.Failed, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			fail(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Permanent, "no")
			return observe(t, db, forced("a"))
		}},
		{"CancelledStaysCancelled", ledger.Cancelled, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			l.sql(t, "UPDATE heyaira_loop.work_item SET state = 'cancelled', finished_at = now()")
			return observe(t, db, forced("a"))
		}},
		{"FailedMarkerDoesNotStopANewOne", ledger.Created, 2, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			fail(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Permanent, "no")
			return observe(t, db, saw("b"))
		}},
		{"FailedMarkerReturnsUnderAQueuedItem", ledger.Duplicate, 2, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			fail(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Permanent, "no")
			observe(t, db, saw("b"))
			return observe(t, db, saw("a"))
		}},
		{"PausedScope", ledger.Paused, 0, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			l.exec(t, "pause_scope", backups, "app", nil)
			return observe(t, db, now(saw("a")))
		}},
		{"PausedType", ledger.Paused, 0, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			l.exec(t, "pause_type", backups, time.Hour)
			return observe(t, db, saw("a"))
		}},
		{"PauseThatIsOver", ledger.Created, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			l.exec(t, "pause_scope", backups, "app", -time.Second)
			return observe(t, db, saw("a"))
		}},
		{"RacedForAnotherOccurrence", ledger.Raced, 0, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			o := saw("a")
			o.Occurrence = time.Now()
			return observe(t, db, o)
		}},
		{"ForcedIsNeverCovered", ledger.Created, 2, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			cover(t, db, "a")
			return observe(t, db, forced("a"))
		}},
		{"ForcedDoesNotDisturbRunning", ledger.Running, 1, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			claimOne(t, db, backups, "app")
			return observe(t, db, now(saw("a")))
		}},
		{"NowMakesFailedWorkAnew", ledger.Created, 2, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			fail(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Permanent, "no")
			return observe(t, db, now(saw("a")))
		}},
		{"NowMakesFailedWorkAnewAgain", ledger.Created, 3, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			for range 2 {
				observe(t, db, now(saw("a")))
				fail(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Permanent, "no")
			}
			return observe(t, db, now(saw("a")))
		}},
		{"NowMakesCancelledWorkAnew", ledger.Created, 2, func(t *testing.T, l *lab, db *ledger.DB) []ledger.Answer {
			observe(t, db, saw("a"))
			l.sql(t, "UPDATE heyaira_loop.work_item SET state = 'cancelled', finished_at = now()")
			return observe(t, db, now(saw("a")))
		}},
	}
	l, db := backupLab(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l.anew(t)
			item := want(t, test.word, test.got(t, l, db))
			if made := ask[int](t, l, "SELECT count(*) FROM heyaira_loop.work_item"); made != test.made {
				t.Errorf("%d items, want %d", made, test.made)
			}
			named := slices.Contains([]ledger.Word{ledger.Created, ledger.Advanced, ledger.Running, ledger.Failed, ledger.Cancelled}, test.word)
			if named && item == 0 {
				t.Error("no item is named")
			}
			if late := ask[int](t, l, `SELECT count(*) FROM heyaira_loop.scope s JOIN heyaira_loop.work_item w USING (work_type, scope_key)
				WHERE s.generation < w.generation`); late != 0 {
				t.Error("the scope's generation is behind its item's")
			}
			sound(t, db)
		})
	}
}

func now(o ledger.Observation) ledger.Observation {
	o.Now = true
	return o
}

func TestEnsureAnswersEveryWordOfKeyedWork(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s")
	keyed := func(key string) ledger.Observation {
		return ledger.Observation{WorkType: batches, Scope: "s", Key: key, Marker: "unused"}
	}
	answers := observe(t, db, keyed("a"), keyed("b"), keyed("c"), keyed("d"), keyed("a"))
	var words []string
	for _, answer := range answers {
		words = append(words, string(answer.Word))
	}
	if got := strings.Join(words, " "); got != "duplicate created created created created" {
		t.Fatalf("answered %s", got)
	}
	claimOne(t, db, batches, "s") // a, the oldest of the one that stands for both
	l.sql(t, "UPDATE heyaira_loop.work_item SET state = 'failed', finished_at = now() WHERE dedupe_key = 'c'")
	l.sql(t, "UPDATE heyaira_loop.work_item SET state = 'cancelled', finished_at = now() WHERE dedupe_key = 'd'")
	leased := ask[string](t, l, "SELECT dedupe_key FROM heyaira_loop.work_item WHERE state = 'leased'")
	queued := ask[string](t, l, "SELECT dedupe_key FROM heyaira_loop.work_item WHERE state = 'queued'")
	// A business key is used once, also when a person asks.
	for key, word := range map[string]ledger.Word{leased: ledger.Running, queued: ledger.Duplicate, "c": ledger.Failed, "d": ledger.Cancelled, "e": ledger.Created} {
		want(t, word, observe(t, db, now(keyed(key))))
	}
}

func TestFullTypeTakesNoMoreThanItsRoom(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s", "z")
	l.sql(t, "UPDATE heyaira_loop.work_type SET max_queued = 3")
	var observations []ledger.Observation
	for n := range 5 {
		observations = append(observations, ledger.Observation{WorkType: batches, Scope: []string{"s", "z"}[n%2], Key: fmt.Sprint(n)})
	}
	words := map[ledger.Word]int{}
	for _, answer := range observe(t, db, observations...) {
		words[answer.Word]++
	}
	if words[ledger.Created] != 3 || words[ledger.Full] != 2 {
		t.Errorf("answered %v", words)
	}
	want(t, ledger.Full, observe(t, db, observations[4]))
	want(t, ledger.Duplicate, observe(t, db, observations[0]))
}

func TestOneBadObservationHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true}}, "app", "bad")
	l.allow(t, batches, policy{}, "s")
	bad := map[string]ledger.Observation{
		"marker has 65537 bytes":  {Marker: strings.Repeat("x", 64<<10+1)},
		"key has 513 bytes":       {Marker: "m", Key: strings.Repeat("k", 513)},
		"marker is not text":      {Marker: "\xff"},
		"payload is not JSON":     {Marker: "m", Payload: []byte("{")},
		"payload is not text":     {Marker: "m", Payload: []byte("\"\x00\"")},
		"memo is not JSON":        {Marker: "m", Memo: []byte("nonsense")},
		"memo has":                {Marker: "m", Memo: []byte(`"` + strings.Repeat("m", 64<<10) + `"`)},
		"scope has":               {Marker: "m", Scope: strings.Repeat("s", 513)},
		"key or marker is empty":  {},
		"scope is not registered": {Marker: "m", Scope: "unheard of"},
	}
	for reason, o := range bad {
		o.WorkType = backups
		if o.Scope == "" {
			o.Scope = "bad"
		}
		answers := observe(t, db, o, saw("ok "+reason))
		if answers[0].Err == nil || !strings.Contains(answers[0].Err.Error(), reason) || answers[0].Word != "" {
			t.Errorf("%s: answered %q, %v", reason, answers[0].Word, answers[0].Err)
		}
		if answers[1].Err != nil || answers[1].Word != ledger.Created && answers[1].Word != ledger.Advanced {
			t.Errorf("%s: the other was answered %q, %v", reason, answers[1].Word, answers[1].Err)
		}
	}
	// Exactly at the bound is allowed.
	want(t, ledger.Advanced, observe(t, db, saw(strings.Repeat("x", 64<<10))))
	want(t, ledger.Created, observe(t, db, ledger.Observation{WorkType: batches, Scope: "s", Key: strings.Repeat("k", 512)}))
}
