package ledger_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestClaimAnswersTheItemAsTheRowHasIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true, TTL: 10 * time.Minute}}, "app")
	id := l.Put(t, leasetest.Work{WorkType: backups, Scope: "app", Marker: "m\u2028\"1", Payload: json.RawMessage(`{"b":1, "a":2}`)})
	before := l.Now(t)
	item := claimOne(t, db, backups, "app")
	row := l.Row(t, id)
	want := lease.Item{
		Holder:   lease.Holder{Item: id, Fence: row.Fence, Owner: row.Owner},
		WorkType: backups, Scope: "app", DedupeKey: row.DedupeKey, Generation: lease.NewSerial(1, 1),
		Step: lease.Run, Until: row.Until, TTL: 10 * time.Minute, Claims: 1, Marker: "m\u2028\"1",
		Payload: json.RawMessage(`{"b":1, "a":2}`), Head: row.Head, Now: item.Now,
	}
	if got := fmt.Sprintf("%+v", item); got != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %s\nwant %+v", got, want)
	}
	if item.Now.Before(before) || item.Until.Sub(item.Now) > 10*time.Minute || item.Until.Sub(item.Now) < 9*time.Minute {
		t.Errorf("now %s, until %s, asked at %s", item.Now, item.Until, before)
	}
	wantKinds(t, l, id, "created", "claimed")
	sound(t, db)
}

func TestClaimTakesOnlyWhatTheRequestNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true}}, "mine", "theirs")
	l.allow(t, batches, policy{}, "mine", "theirs")
	mine := []int64{l.put(t, backups, "mine", "m"), l.put(t, batches, "mine", "k")}
	l.put(t, backups, "theirs", "m")
	l.put(t, batches, "theirs", "k")
	items, err := db.Claim(t.Context(), lease.Request{
		Scopes: map[string][]string{backups: {"mine"}, batches: {"mine"}, "unheard of": {"mine"}},
		Limit:  10, Owner: lease.NewOwner("h1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, item := range items {
		got = append(got, item.Item)
	}
	if !slices.Equal(got, mine) {
		t.Errorf("claimed %v, want %v", got, mine)
	}
}

func TestClaimTakesUpToItsLimitOfEachTypeFirstOnesFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, "a-batch", policy{}, "s")
	l.allow(t, "z-notice", policy{goesFirst: true}, "s")
	scopes := map[string][]string{"a-batch": {"s"}, "z-notice": {"s"}}
	for _, key := range []string{"1", "2", "3"} {
		l.put(t, "a-batch", "s", key)
		l.put(t, "z-notice", "s", key)
	}
	items, err := db.Claim(t.Context(), lease.Request{Scopes: scopes, Limit: 2, Owner: lease.NewOwner("h1")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range items {
		got = append(got, item.WorkType+" "+item.DedupeKey)
	}
	if want := []string{"z-notice 1", "z-notice 2", "a-batch 1", "a-batch 2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestClaimWhoseReplyWasLostIsFoundAgainByItsOwner(t *testing.T) {
	t.Parallel()
	for _, workType := range []string{backups, batches} {
		t.Run(workType, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			db := l.open(t)
			l.allow(t, workType, policy{Policy: leasetest.Policy{Coalesces: workType == backups}}, "a", "b", "c")
			for _, scope := range []string{"a", "b", "c"} {
				l.put(t, workType, scope, "1")
			}
			request := lease.Request{Scopes: map[string][]string{workType: {"a", "b", "c"}}, Limit: 2, Owner: lease.NewOwner("h1")}
			lost, err := db.Claim(t.Context(), request)
			if err != nil || len(lost) != 2 {
				t.Fatalf("claimed %d, %v", len(lost), err)
			}
			again, err := db.Claim(t.Context(), request)
			if err != nil || len(again) != 2 {
				t.Fatalf("found %d again, %v", len(again), err)
			}
			for i := range again {
				again[i].Now = lost[i].Now
				if got, want := fmt.Sprintf("%+v", again[i]), fmt.Sprintf("%+v", lost[i]); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			wantKinds(t, l, lost[0].Item, "created", "claimed")

			// What was started is in hand and not handed out once more.
			start(t, db, lost[0])
			more, err := db.Claim(t.Context(), request)
			if err != nil || len(more) != 2 || more[0].Item != lost[1].Item {
				t.Errorf("got %+v, %v", more, err)
			}
		})
	}
}

func TestPausedAndGatedWorkIsNotClaimed(t *testing.T) {
	t.Parallel()
	hour, past := time.Hour, -time.Second
	for _, workType := range []string{backups, batches} {
		t.Run(workType, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			db := l.open(t)
			l.allow(t, workType, policy{Policy: leasetest.Policy{Coalesces: workType == backups}}, "ever", "hour", "over", "gated")
			for _, scope := range []string{"ever", "hour", "over", "gated"} {
				l.put(t, workType, scope, "1")
			}
			l.exec(t, "pause_scope", workType, "ever", nil)
			l.exec(t, "pause_scope", workType, "hour", &hour)
			l.exec(t, "pause_scope", workType, "over", &past)
			l.exec(t, "gate", workType, "gated", "sample is too small")
			l.exec(t, "pause_type", workType, &hour)
			if items := claim(t, db, "h1", workType, 10, "ever", "hour", "over", "gated"); len(items) != 0 {
				t.Errorf("claimed %+v of a paused type", items)
			}
			l.exec(t, "pause_type", workType, &past)
			items := claim(t, db, "h1", workType, 10, "ever", "hour", "over", "gated")
			if len(items) != 1 || items[0].Scope != "over" {
				t.Errorf("claimed %+v, want the one whose pause is over", items)
			}
		})
	}
}

func TestFenceOfAScopeOnlyGrowsAndItsLeaseIsItsOwn(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{Policy: leasetest.Policy{TTL: time.Minute}})
	l.exec(t, "scope_set", backups, "app", time.Hour, nil, nil)
	var fence lease.Serial
	for range 3 {
		item := claimOne(t, db, backups, "app")
		if item.Fence <= fence {
			t.Errorf("fence %s after %s", item.Fence, fence)
		}
		fence = item.Fence
		item = start(t, db, item)
		kept, err := db.Renew(t.Context(), []lease.Progress{{Holder: item.Holder}})
		if err != nil || len(kept) != 1 {
			t.Fatalf("kept %v, %v", kept, err)
		}
		for _, ttl := range []time.Duration{item.TTL, item.Until.Sub(item.Now).Round(time.Minute), kept[0].TTL} {
			if ttl != time.Hour {
				t.Errorf("lease of %s, want the scope's hour", ttl)
			}
		}
		giveBack(t, db, item)
	}
	if row := l.Row(t, id); row.Claims != 3 {
		t.Errorf("%d claims, want 3", row.Claims)
	}
}

func TestClaimDoesNotWaitForARowThatSomebodyHolds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s")
	held, free := l.put(t, batches, "s", "1"), l.put(t, batches, "s", "2")
	tx, err := l.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.exec(t, "move_run", held, -time.Minute)
	if items := claim(t, db, "h1", batches, 2, "s"); len(items) != 1 || items[0].Item != free {
		t.Errorf("claimed %+v, want item %d alone", items, free)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCapsAreExactUnderRacingClaimers(t *testing.T) {
	t.Parallel()
	const claimers, rounds, most, ofHost, ofScope = 8, 12, 5, 3, 2
	caps := map[string]int{"all": most, "host0": ofHost, "host1": ofHost}
	for _, workType := range []string{backups, batches} {
		t.Run(workType, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var scopes []string
			for n := range 12 {
				scopes = append(scopes, fmt.Sprintf("s%02d", n))
			}
			l.allow(t, workType, policy{Policy: leasetest.Policy{
				Coalesces: workType == backups, MaxRunning: most, MaxRunningPerHost: ofHost, MaxClaims: 10000,
			}}, scopes...)
			for _, scope := range scopes {
				l.exec(t, "scope_set", workType, scope, nil, nil, ofScope)
				l.put(t, workType, scope, "1")
				if workType == batches {
					for _, key := range []string{"2", "3", "4"} {
						l.put(t, workType, scope, key)
					}
				}
			}
			dbs := make([]*ledger.DB, claimers)
			for n := range dbs {
				dbs[n] = l.open(t)
			}
			for round := range rounds {
				claimed := make([][]lease.Item, claimers)
				var wg sync.WaitGroup
				for n, db := range dbs {
					wg.Go(func() { claimed[n] = claim(t, db, fmt.Sprint("host", n%2), workType, 1+n%3, scopes...) })
				}
				wg.Wait()
				held := map[string]int{}
				var back []lease.Holder
				for n, items := range claimed {
					for _, item := range items {
						held["all"]++
						held[fmt.Sprint("host", n%2)]++
						held[item.Scope]++
						back = append(back, item.Holder)
					}
				}
				for key, n := range held {
					if limit := cmp.Or(caps[key], ofScope); n > limit {
						t.Errorf("round %d: %d of %s held", round, n, key)
					}
				}
				if held["all"] != most { // enough is due, and the hosts may hold one more
					t.Errorf("round %d: %d held, want %d", round, held["all"], most)
				}
				if _, err := dbs[0].GiveBack(t.Context(), back, nil); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestCapsAreReachedAndCountVerifyToo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{Policy: leasetest.Policy{MaxRunning: 3, MaxRunningPerHost: 2}}, "s")
	for _, key := range []string{"1", "2", "3", "4"} {
		l.put(t, batches, "s", key)
	}
	first := claim(t, db, "h1", batches, 10, "s")
	second := claim(t, db, "h2", batches, 10, "s")
	if len(first) != 2 || len(second) != 1 {
		t.Fatalf("claimed %d and %d, want 2 and 1", len(first), len(second))
	}
	finish(t, db, start(t, db, first[0]), lease.Result{})
	if more := claim(t, db, "h3", batches, 10, "s"); len(more) != 0 {
		t.Errorf("claimed %+v beside work that is being verified", more)
	}
	giveBack(t, db, second[0])
	if more := claim(t, db, "h3", batches, 10, "s"); len(more) != 1 {
		t.Errorf("claimed %d, want the one that is free again", len(more))
	}
}

func TestRateIsExactWithinAMinute(t *testing.T) {
	t.Parallel()
	const rate = 5
	for _, workType := range []string{backups, batches} {
		t.Run(workType, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var scopes []string
			for n := range 40 {
				scopes = append(scopes, fmt.Sprintf("s%02d", n))
			}
			l.allow(t, workType, policy{Policy: leasetest.Policy{Coalesces: workType == backups}, perMinute: rate}, scopes...)
			for _, scope := range scopes {
				l.put(t, workType, scope, "1")
			}
			minute := func() time.Time { return l.Now(t).Truncate(time.Minute) }
			for { // until a whole try lay within one minute
				began := minute()
				l.exec(t, "rate_reset", workType)
				var mu sync.Mutex
				claimed := 0
				var wg sync.WaitGroup
				for range 8 {
					db := l.open(t)
					wg.Go(func() {
						items := claim(t, db, "h1", workType, 2, scopes...)
						mu.Lock()
						defer mu.Unlock()
						claimed += len(items)
					})
				}
				wg.Wait()
				if !minute().Equal(began) {
					continue
				}
				if claimed != rate {
					t.Errorf("claimed %d within one minute, want %d", claimed, rate)
				}
				return
			}
		})
	}
}

func TestScopesTakeTurns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	scopes := []string{"a-long"}
	for n := range 9 {
		scopes = append(scopes, fmt.Sprintf("b%d", n))
	}
	l.allow(t, batches, policy{}, scopes...)
	l.exec(t, "put_many", batches, "a-long", 500)
	for _, scope := range scopes[1:] {
		l.exec(t, "put_many", batches, scope, 6)
	}
	served := map[string]int{}
	for range 20 { // of three: the walk has to go on where it stopped
		for _, item := range claim(t, db, "h1", batches, 3, scopes...) {
			served[item.Scope]++
		}
	}
	for _, scope := range scopes {
		if served[scope] != 6 {
			t.Errorf("%s was served %d times within 60 claims, want 6 like every other", scope, served[scope])
		}
	}
}
