package ledger_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestCrashIsChargedOnlyToWorkThatHadBegun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{Policy: leasetest.Policy{MaxCrashes: 2}}, "s")
	poison, bystander := l.put(t, batches, "s", "1"), l.put(t, batches, "s", "2")
	for n := 1; n <= 2; n++ {
		l.due(t, poison)
		items := claim(t, db, "h1", batches, 2, "s")
		if len(items) != 2 {
			t.Fatalf("claimed %+v", items)
		}
		for _, item := range items {
			if item.Item == poison {
				start(t, db, item)
			}
			l.MoveLease(t, item.Item, -time.Millisecond)
		}
		before := l.Now(t)
		want := []lease.Reclaimed{
			{Item: poison, WorkType: batches, Scope: "s", Outcome: lease.GivenBack, Crashes: n},
			{Item: bystander, WorkType: batches, Scope: "s", Outcome: lease.GivenBack},
		}
		if n == 2 {
			want[0].Outcome = lease.Quarantined
		}
		if got := reclaim(t, db); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
		if row := l.Row(t, bystander); row.Crashes != 0 || row.RunAt.After(l.Now(t)) || row.LastError != "" {
			t.Errorf("the bystander was charged: %+v", row)
		}
		if row := l.Row(t, poison); n == 1 && row.RunAt.Sub(before) < 2*time.Second || row.LastError != "worker was lost during run" {
			t.Errorf("row is %+v", row)
		}
	}
	wantKinds(t, l, poison, "created", "claimed", "reclaimed", "claimed", "quarantined")
	if got := reclaim(t, db); len(got) != 0 {
		t.Errorf("reclaimed what nobody held: %+v", got)
	}
	sound(t, db)
}

func TestWorkThatNeverBeginsEndsAtTheCeilingOfClaims(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{Policy: leasetest.Policy{MaxClaims: 3}})
	for n := 1; n <= 3; n++ {
		claimOne(t, db, backups, "app")
		l.MoveLease(t, id, -time.Millisecond)
		want := lease.GivenBack
		if n == 3 {
			want = lease.Quarantined
		}
		if got := reclaim(t, db); len(got) != 1 || got[0].Outcome != want || got[0].Crashes != 0 {
			t.Errorf("claim %d: got %+v, want %s", n, got, want)
		}
	}
	if row := l.Row(t, id); row.State != "quarantined" || row.LastError != "claimed 3 times without an end" {
		t.Errorf("row is %+v", row)
	}
}

func TestVerifyThatDiedIsHandedOutAgainWithItsResult(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	result := l.captured(t, "m1")
	finish(t, db, start(t, db, claimOne(t, db, backups, "app")), result)
	l.MoveLease(t, id, -time.Millisecond)
	if got := reclaim(t, db); len(got) != 1 || got[0].Crashes != 1 {
		t.Fatalf("got %+v", got)
	}
	l.due(t, id)
	item := claimOne(t, db, backups, "app")
	item.Result.TakenAt = item.Result.TakenAt.UTC()
	if item.Step != lease.Verify || fmt.Sprint(item.Result) != fmt.Sprint(result) {
		t.Errorf("got %+v", item)
	}
	if word := complete(t, db, start(t, db, item), `{}`); word != lease.Covered {
		t.Errorf("got %s", word)
	}
}

func TestReclaimTakesNoMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s")
	for _, key := range []string{"1", "2", "3"} {
		l.put(t, batches, "s", key)
	}
	for _, item := range claim(t, db, "h1", batches, 3, "s") {
		l.MoveLease(t, item.Item, -time.Second)
	}
	for _, want := range []int{2, 1, 0} {
		if got, err := db.Reclaim(t.Context(), 2); err != nil || len(got) != want {
			t.Errorf("got %+v, %v, want %d", got, err, want)
		}
	}
}

// TestLeaseThatIsBeingRenewedIsNotReclaimed lets reclaim see an expired lease whose
// renewal is under way and not committed yet.
func TestLeaseThatIsBeingRenewedIsNotReclaimed(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	start(t, db, claimOne(t, db, backups, "app"))
	l.MoveLease(t, id, -time.Second)
	renewer := pgtest.Connect(t, l.conninfo)
	tx, err := renewer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), lever(t, "move_lease"), id, time.Hour); err != nil {
		t.Fatal(err)
	}
	done := make(chan []lease.Reclaimed, 1)
	go func() { done <- reclaim(t, db) }()
	// It may leave the lease alone or wait for the renewal, but not overrule it.
	for len(done) == 0 && !l.waiting(t) {
		runtime.Gosched()
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if row := l.Row(t, id); len(got) != 0 || row.State != "leased" || row.Crashes != 0 || row.Until.Before(l.Now(t)) {
		t.Errorf("reclaimed %+v, row is %+v", got, row)
	}
}

func TestWhatAWrongClockPutFarAheadIsPulledBack(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	l := newLab(t)
	db := l.open(t)
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true, TTL: 10 * time.Minute}}, "leased", "soon", "tried", "born", "window")
	l.allow(t, batches, policy{Policy: leasetest.Policy{TTL: 10 * time.Minute}}, "tried", "own")
	l.exec(t, "scope_set", batches, "own", 3*time.Hour, nil, nil)

	near := func(name string, at, from time.Time, want time.Duration) {
		t.Helper()
		if got := at.Sub(from); got < want-time.Minute || got > want+time.Minute {
			t.Errorf("%s lies %s ahead, want %s", name, got, want)
		}
	}
	leased := l.put(t, backups, "leased", "m")
	claimOne(t, db, backups, "leased")
	l.MoveLease(t, leased, year)
	own := l.put(t, batches, "own", "k")
	claimOne(t, db, batches, "own")
	l.MoveLease(t, own, year)
	soon := l.put(t, backups, "soon", "m")
	claimOne(t, db, backups, "soon")
	l.MoveLease(t, soon, 19*time.Minute)

	// Tried before: it waits at most for its next try.
	tried := []int64{l.put(t, backups, "tried", "m"), l.put(t, batches, "tried", "k")}
	fail(t, db, claimOne(t, db, backups, "tried"), lease.Blocked, "")
	fail(t, db, claimOne(t, db, batches, "tried"), lease.Transient, "")
	for _, id := range tried {
		l.MoveRun(t, id, year)
	}
	// Made while the clock stood a year ahead, for two hours later.
	born := l.put(t, backups, "born", "m")
	l.exec(t, "born", born, year, year+2*time.Hour)
	// Made now, for a window in a year: that is its right.
	window := l.put(t, backups, "window", "m")
	l.MoveRun(t, window, year)

	now := l.Now(t)
	for range 2 {
		if got := reclaim(t, db); len(got) != 0 {
			t.Errorf("reclaimed %+v", got)
		}
		near("lease", l.Row(t, leased).Until, now, 20*time.Minute)
		near("lease of a scope", l.Row(t, own).Until, now, 6*time.Hour)
		near("lease within its bound", l.Row(t, soon).Until, now, 19*time.Minute)
		near("wait of a tried backup", l.Row(t, tried[0]).RunAt, now, time.Hour)
		near("wait of a tried batch", l.Row(t, tried[1]).RunAt, now, time.Hour)
		near("wait of work from the future", l.Row(t, born).RunAt, now, 2*time.Hour)
		near("window", l.Row(t, window).RunAt, now, year)
	}
}

func TestCoverFromTheFutureHoldsWorkBackNoLongerThanItsInterval(t *testing.T) {
	t.Parallel()
	l, db, _ := backup(t, policy{})
	complete(t, db, finish(t, db, start(t, db, claimOne(t, db, backups, "app")), l.captured(t, "m1")), `{}`)
	l.sql(t, `UPDATE heyaira_loop.coverage SET covered_at = clock_timestamp() + '1 year'`)
	l.sql(t, `UPDATE heyaira_loop.scope SET min_interval = '1 hour'`)
	id := want(t, ledger.Created, observe(t, db, saw("m2")))
	if wait := l.Row(t, id).RunAt.Sub(l.Now(t)); wait > time.Hour || wait < 59*time.Minute {
		t.Errorf("work waits %s, want its scope's hour", wait)
	}
}
