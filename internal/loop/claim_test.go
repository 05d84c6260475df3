package loop

import (
	"context"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestClaimTakesOnlyWhatIsConfiguredAndUpToTheLimitOfEachType(t *testing.T) {
	t.Parallel()
	one, two := newFake("one", "a", "b", "c"), newFake("two", "d", "e", "f")
	l := newLab(t, one, two)
	l.tick(TickOptions{})
	one.scopes = one.scopes[:1]
	documents := l.claim(2)
	if got := strings.Count(documents, `"work_type":"one"`); got != 1 {
		t.Errorf("claimed %d of type one, want the configured one: %s", got, documents)
	}
	if got := strings.Count(documents, `"work_type":"two"`); got != 2 {
		t.Errorf("claimed %d of type two, want 2: %s", got, documents)
	}
	if again := l.claimWith(ClaimOptions{WorkType: "two", Scope: "f"}); !strings.Contains(again, `"scope":"f"`) {
		t.Errorf("claimed %s", again)
	}
}

func TestTypesThatGoFirstAreClaimedBeforeTheOthers(t *testing.T) {
	t.Parallel()
	backup, notice := newFake("a-backup", "b", "a"), newFake("z-notice", "n")
	notice.policy.First = true
	l := newLab(t, backup, notice)
	l.tick(TickOptions{})
	s := newStream(Input{"claim", strings.NewReader(l.claim(2))})
	for _, want := range []string{"z-notice", "a-backup", "a-backup"} {
		if document, err := s.next(); err != nil || document.WorkType != want {
			t.Errorf("got %s, %v, want %s", document.WorkType, err, want)
		}
	}
}

func TestEachClaimHasAnOwnerOfItsOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t, newFake("demo", "a", "b"))
	l.tick(TickOptions{})
	owners := map[string]bool{}
	for range 2 {
		s := newStream(Input{"claim", strings.NewReader(l.claim(1))})
		document, err := s.next()
		if err != nil || !strings.HasPrefix(document.Owner, "h1:") {
			t.Fatalf("got %+v, %v", document, err)
		}
		owners[document.Owner] = true
	}
	if len(owners) != 2 {
		t.Errorf("got owners %v", owners)
	}
}

func TestClaimedItemsGoBackWhenTheReaderIsGone(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]int{"AtOnce": 0, "Later": 1, "AtTheEnd": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, newFake("demo", "a", "b"))
			l.tick(TickOptions{})
			l.with(func(ctx context.Context, db *ledger.DB) {
				items, err := Claim(ctx, db, l.consumers, ClaimOptions{Limit: 2, Host: "h1"})
				if err != nil || len(items) != 2 {
					t.Fatalf("claimed %d, %v", len(items), err)
				}
				err = Hand(ctx, db, &failing{after}, items, true)
				if err == nil || !strings.Contains(err.Error(), "2 of 2 items given back") {
					t.Errorf("got %v", err)
				}
			})
			for _, scope := range []string{"a", "b"} {
				if got := l.item(scope); got.State != "queued" {
					t.Errorf("%s: got %+v", scope, got)
				}
			}
		})
	}
}

// What the reader started before it closed its end is not taken from it.
func TestStartedItemIsNotGivenBackByClaim(t *testing.T) {
	t.Parallel()
	l := newLab(t, newFake("demo", "app"))
	l.tick(TickOptions{})
	l.with(func(ctx context.Context, db *ledger.DB) {
		items, err := Claim(ctx, db, l.consumers, ClaimOptions{Host: "h1"})
		if err != nil || len(items) != 1 {
			t.Fatalf("claimed %d, %v", len(items), err)
		}
		started, err := db.Start(ctx, lease.NewOwner("h1"), lease.Run, []lease.Holder{items[0].Holder})
		if err != nil || len(started) != 1 {
			t.Fatalf("started %d, %v", len(started), err)
		}
		if err := Hand(ctx, db, &failing{1}, items, true); err == nil || !strings.Contains(err.Error(), "0 of 1 items given back") {
			t.Errorf("got %v", err)
		}
	})
	if got := l.item("app"); got.State != "leased" || !got.Started {
		t.Errorf("got %+v", got)
	}
}

func TestUnframedClaimHasNoEndLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := Hand(t.Context(), nil, &out, []lease.Item{sample()}, false); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, `"end"`) || strings.Count(got, "\n") != 1 {
		t.Errorf("got %s", got)
	}
	if err := Hand(t.Context(), nil, &failing{}, nil, true); err == nil {
		t.Error("an end line that could not be written is no error")
	}
}

func TestClaimAndReclaimRefuseALedgerThatIsNotOurs(t *testing.T) {
	t.Parallel()
	l := newLab(t, newFake("demo", "app"))
	l.tick(TickOptions{})
	l.exec(`UPDATE heyaira_loop.ledger_identity SET environment = 'production'`)
	l.with(func(ctx context.Context, db *ledger.DB) {
		if _, err := Claim(ctx, db, l.consumers, ClaimOptions{Host: "h1"}); ErrorStatus(err) != StatusRefused {
			t.Errorf("claim: got %v", err)
		}
		if _, err := Reclaim(ctx, db); ErrorStatus(err) != StatusRefused {
			t.Errorf("reclaim: got %v", err)
		}
		if _, err := Tick(ctx, db, l.consumers, TickOptions{Host: "h1"}); ErrorStatus(err) != StatusRefused {
			t.Errorf("tick: got %v", err)
		}
	})
	if got := l.item("app"); got.State != "queued" {
		t.Errorf("got %+v", got)
	}
}
