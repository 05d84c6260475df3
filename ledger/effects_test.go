package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

const key = "backup:publish:app:1:1"

func publication(target string) lease.Intent {
	return lease.Intent{Key: key, Kind: "publish", Target: json.RawMessage(target)}
}

func intend(t testing.TB, db *ledger.DB, item lease.Item, intent lease.Intent) lease.Claim {
	t.Helper()
	claim, err := db.Intend(t.Context(), item.Holder, intent)
	if err != nil {
		t.Error(err)
	}
	return claim
}

// again takes the lease away and hands the item to a new process.
func (l *lab) again(t testing.TB, db *ledger.DB, item lease.Item) lease.Item {
	t.Helper()
	l.MoveLease(t, item.Item, -time.Second)
	reclaim(t, db)
	l.due(t, item.Item)
	return start(t, db, claimOne(t, db, item.WorkType, item.Scope))
}

func TestIntentIsClaimedOnceAndAnswersWhereItStands(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	first := start(t, db, claimOne(t, db, backups, "app"))
	intent := publication(`{"key":"a/manifest.json"}`)
	if claim := intend(t, db, first, intent); claim.State != lease.Claimed {
		t.Fatalf("got %+v", claim)
	}
	wantKinds(t, l, id, "created", "claimed", "effect_claimed")
	// Its own again is a lost reply; no second receipt.
	if claim := intend(t, db, first, intent); claim.State != lease.Claimed {
		t.Errorf("its own: %+v", claim)
	}
	wantKinds(t, l, id, "created", "claimed", "effect_claimed")

	// The next holder is told who stands in the way, and where to look.
	second := l.again(t, db, first)
	if claim := intend(t, db, second, publication(`{"key":"b"}`)); claim.State != lease.Held || claim.Item != id || claim.Fence != first.Fence || string(claim.Target) != `{"key":"a/manifest.json"}` {
		t.Errorf("got %+v", claim)
	}
	if _, err := db.Intend(t.Context(), first.Holder, intent); !errors.Is(err, lease.ErrLost) {
		t.Errorf("lost lease: %v", err)
	}
	// Nobody could say: it never fires unasked.
	if ok, err := db.Settle(t.Context(), key, first.Fence, lease.Unknown, nil); !ok || err != nil {
		t.Fatalf("settled %t, %v", ok, err)
	}
	if claim := intend(t, db, second, intent); claim.State != lease.Unknown || claim.Fence != first.Fence {
		t.Errorf("got %+v", claim)
	}
	// Absent: it may fire again, under the new fence.
	if ok, err := db.Settle(t.Context(), key, first.Fence, lease.Abandoned, nil); !ok || err != nil {
		t.Fatalf("settled %t, %v", ok, err)
	}
	if claim := intend(t, db, second, publication(`{"key":"b"}`)); claim.State != lease.Claimed {
		t.Errorf("got %+v", claim)
	}
	if e, _ := l.Effect(t, key); e.Tries != 2 || e.Fence != second.Fence || string(e.Target) != `{"key":"b"}` {
		t.Errorf("intent is %+v", e)
	}
	if err := db.Commit(t.Context(), key, second.Fence, json.RawMessage(`{"etag": "x"}`)); err != nil {
		t.Fatal(err)
	}
	third := l.again(t, db, second)
	if claim := intend(t, db, third, intent); claim.State != lease.Committed || string(claim.Evidence) != `{"etag": "x"}` || claim.Fence != second.Fence {
		t.Errorf("got %+v", claim)
	}
	sound(t, db)
}

func TestRacingHoldersOfOneKeyAreToldOneByOne(t *testing.T) {
	t.Parallel()
	const racers, rounds = 6, 20
	l := newLab(t)
	l.allow(t, batches, policy{}, "s")
	var items []lease.Item
	var dbs []*ledger.DB
	for n := range racers {
		db := l.open(t)
		l.put(t, batches, "s", fmt.Sprint(n))
		items = append(items, start(t, db, claimOne(t, db, batches, "s")))
		dbs = append(dbs, db)
	}
	for round := range rounds {
		intent := lease.Intent{Key: fmt.Sprint("send:", round), Kind: "send", Target: json.RawMessage(`"x"`)}
		claims := make([]lease.Claim, racers)
		var wg sync.WaitGroup
		for n := range racers {
			wg.Go(func() { claims[n] = intend(t, dbs[n], items[n], intent) })
		}
		wg.Wait()
		e, _ := l.Effect(t, intent.Key)
		won := 0
		for n, claim := range claims {
			switch {
			case claim.State == lease.Claimed && e.Item == items[n].Item && e.Fence == items[n].Fence:
				won++
			case claim.State == lease.Held && claim.Fence == e.Fence && claim.Item == e.Item && string(claim.Target) == `"x"`:
			default:
				t.Errorf("racer %d: %+v beside %+v", n, claim, e)
			}
		}
		if won != 1 {
			t.Errorf("round %d: claimed by %d", round, won)
		}
	}
	sound(t, dbs[0])
}

func TestVerifyMayNotFireWhatRunLeftOpen(t *testing.T) {
	t.Parallel()
	l, db, _ := backup(t, policy{})
	item := start(t, db, claimOne(t, db, backups, "app"))
	intend(t, db, item, publication(`{}`))
	verifying := finish(t, db, item, l.captured(t, "m"))
	if claim := intend(t, db, verifying, publication(`{}`)); verifying.Fence != item.Fence || claim.State != lease.Held {
		t.Errorf("got %+v", claim)
	}
}

func TestEvidenceOfWhatFiredIsKeptLeaseOrNoLease(t *testing.T) {
	t.Parallel()
	proof := json.RawMessage("{\"etag\": \"\\u0001 \u2028 \U0001F600 \\\" x\"}")
	tests := map[string]func(t *testing.T, l *lab, db *ledger.DB, item lease.Item){
		"held":      func(*testing.T, *lab, *ledger.DB, lease.Item) {},
		"expired":   func(t *testing.T, l *lab, _ *ledger.DB, item lease.Item) { l.MoveLease(t, item.Item, -time.Second) },
		"taken":     func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) { l.again(t, db, item) },
		"failed":    func(t *testing.T, _ *lab, db *ledger.DB, item lease.Item) { fail(t, db, item, lease.Permanent, "") },
		"abandoned": func(t *testing.T, _ *lab, db *ledger.DB, item lease.Item) { giveBack(t, db, item, key) },
		"unknown": func(t *testing.T, _ *lab, db *ledger.DB, item lease.Item) {
			giveBack(t, db, item)
			if ok, err := db.Settle(t.Context(), key, item.Fence, lease.Unknown, nil); !ok || err != nil {
				t.Errorf("settled %t, %v", ok, err)
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, db, id := backup(t, policy{})
			item := start(t, db, claimOne(t, db, backups, "app"))
			intend(t, db, item, publication(`{}`))
			spoil(t, l, db, item)
			for range 2 { // the second is the reply that was lost
				if err := db.Commit(t.Context(), key, item.Fence, proof); err != nil {
					t.Fatal(err)
				}
			}
			if e, _ := l.Effect(t, key); e.State != lease.Committed || string(e.Evidence) != string(proof) {
				t.Errorf("intent is %+v", e)
			}
			events := l.Events(t, id)
			last := events[len(events)-1]
			if want := `{"effect":"` + key + `","evidence":` + string(proof) + `}`; last.Kind != "effect_committed" || last.Fence != item.Fence || string(last.Detail) != want {
				t.Errorf("receipt is %+v", last)
			}
			if before := events[len(events)-2]; before.Kind == "effect_committed" {
				t.Error("two receipts of one commit")
			}
			sound(t, db)
		})
	}
}

func TestEffectOfAnotherFenceIsLeftAlone(t *testing.T) {
	t.Parallel()
	l, db, _ := backup(t, policy{})
	first := start(t, db, claimOne(t, db, backups, "app"))
	intend(t, db, first, publication(`{}`))
	second := l.again(t, db, first)
	if err := db.Abandon(t.Context(), key, first.Fence); err != nil {
		t.Fatal(err) // who did not fire may say so at any time
	}
	intend(t, db, second, publication(`{}`))
	before, _ := l.Effect(t, key)
	for name, err := range map[string]error{
		"commit":          db.Commit(t.Context(), key, first.Fence, json.RawMessage(`{}`)),
		"abandon":         db.Abandon(t.Context(), key, first.Fence),
		"commit nothing":  db.Commit(t.Context(), "no such key", first.Fence, json.RawMessage(`{}`)),
		"abandon nothing": db.Abandon(t.Context(), "no such key", first.Fence),
	} {
		if !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// It is alive under the second fence, and there is none under the first.
	for _, fence := range []lease.Serial{first.Fence, second.Fence} {
		for _, verdict := range []lease.EffectState{lease.Abandoned, lease.Unknown} {
			if ok, err := db.Settle(t.Context(), key, fence, verdict, nil); ok || err != nil {
				t.Errorf("settled %s under %s: %t, %v", verdict, fence, ok, err)
			}
		}
	}
	if after, _ := l.Effect(t, key); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("was %+v, is %+v", before, after)
	}
	// What has fired is not abandoned any more.
	if err := db.Commit(t.Context(), key, second.Fence, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Abandon(t.Context(), key, second.Fence); !errors.Is(err, lease.ErrLost) {
		t.Errorf("abandoned what fired: %v", err)
	}
}

func TestGivingBackAbandonsOnlyWhatTheHolderDidNotFire(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s")
	mine := l.put(t, batches, "s", "1")
	item := start(t, db, claimOne(t, db, batches, "s"))
	l.put(t, batches, "s", "2")
	other := start(t, db, claimOne(t, db, batches, "s"))
	for key, by := range map[string]lease.Item{"u1": item, "u2": item, "fired": item, "others": other} {
		intend(t, db, by, lease.Intent{Key: key, Kind: "k"})
	}
	giveBack(t, db, item, "u2", "u1", "others", "unheard of")
	for key, want := range map[string]lease.EffectState{"u1": lease.Abandoned, "u2": lease.Abandoned, "fired": "intent", "others": "intent"} {
		if e, _ := l.Effect(t, key); e.State != want {
			t.Errorf("%s is %s, want %s", key, e.State, want)
		}
	}
	events := l.Events(t, mine)
	if detail := string(events[len(events)-1].Detail); detail != `{"abandoned":["u1", "u2"],"began":true,"phase":"run"}` {
		t.Errorf("receipt says %s", detail)
	}
}

func TestDeadIntentsAreListedUntilTheyAreSettled(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{Policy: leasetest.Policy{MaxCrashes: 9}}, "s")
	id := l.put(t, batches, "s", "1")
	item := start(t, db, claimOne(t, db, batches, "s"))
	intend(t, db, item, publication(`{"key": "x"}`))
	intend(t, db, item, lease.Intent{Key: "nobody can be asked", Kind: "other"})
	dead := func() []ledger.DeadEffect {
		t.Helper()
		dead, err := db.DeadEffects(t.Context(), []string{"publish"}, 10)
		if err != nil {
			t.Fatal(err)
		}
		return dead
	}
	want := ledger.DeadEffect{
		Key: key, Kind: "publish", Item: id, WorkType: batches, Scope: "s", Fence: item.Fence, Target: json.RawMessage(`{"key": "x"}`), Tries: 1,
	}
	listed := func(when string, n int) {
		t.Helper()
		got := dead()
		if len(got) != n || n == 1 && fmt.Sprint(got[0]) != fmt.Sprint(want) {
			t.Errorf("%s: got %+v", when, got)
		}
	}
	listed("held", 0)
	l.MoveLease(t, id, -time.Second)
	listed("expired: death is a fact of rows", 0)
	reclaim(t, db)
	listed("taken back", 1)
	l.due(t, id)
	item = start(t, db, claimOne(t, db, batches, "s"))
	listed("held under another fence", 1)
	for range 2 {
		if ok, err := db.Settle(t.Context(), key, want.Fence, lease.Unknown, nil); !ok || err != nil {
			t.Errorf("settled %t, %v", ok, err)
		}
	}
	listed("unknown", 1)
	settled := 0
	for _, kind := range kinds(l.Events(t, id)) {
		if kind == "effect_settled" {
			settled++
		}
	}
	if settled != 1 {
		t.Errorf("%d receipts of one verdict", settled)
	}
	if ok, err := db.Settle(t.Context(), key, want.Fence, lease.Committed, json.RawMessage(`{"etag":"x"}`)); !ok || err != nil {
		t.Errorf("settled %t, %v", ok, err)
	}
	listed("committed", 0)
	if e, _ := l.Effect(t, key); e.State != lease.Committed || string(e.Evidence) != `{"etag":"x"}` {
		t.Errorf("intent is %+v", e)
	}
	for _, verdict := range []lease.EffectState{lease.Abandoned, lease.Unknown} {
		if ok, err := db.Settle(t.Context(), key, want.Fence, verdict, nil); ok || err != nil {
			t.Errorf("%s after it was committed: %t, %v", verdict, ok, err)
		}
	}
	for verdict, evidence := range map[lease.EffectState]string{lease.Held: "", lease.Claimed: "", lease.Unknown: `{}`} {
		if _, err := db.Settle(t.Context(), key, want.Fence, verdict, json.RawMessage(evidence)); err == nil && evidence != "" || err == nil && verdict != lease.Unknown {
			t.Errorf("verdict %s with %q was taken", verdict, evidence)
		}
	}
	giveBack(t, db, item)
	sound(t, db)
}
