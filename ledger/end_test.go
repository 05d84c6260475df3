package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
)

func TestCompletionCoversWhatRunCaptured(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	result := l.captured(t, "captured")
	item := finish(t, db, start(t, db, claimOne(t, db, backups, "app")), result)
	if word := complete(t, db, item, `{"level": "hash"}`); word != lease.Covered {
		t.Fatalf("got %s", word)
	}
	scope := l.Scope(t, backups, "app")
	scope.TakenAt = scope.TakenAt.UTC()
	want := leasetest.Scope{
		Generation: lease.NewSerial(1, 2), Covered: true, Marker: "captured", Ticket: result.Ticket, TakenAt: result.TakenAt,
		Item: id, Fence: item.Fence, CoverOf: lease.NewSerial(1, 1), Evidence: json.RawMessage(`{"level": "hash"}`),
	}
	if got, want := fmt.Sprintf("%+v", scope), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	row := l.Row(t, id)
	if row.State != "done" || row.Owner != "" || !row.Until.IsZero() || row.Started || row.Finished.IsZero() || string(row.Evidence) != `{"level": "hash"}` {
		t.Errorf("row is %+v", row)
	}
	// A reply that was lost is answered again, and nothing happens twice.
	if word := complete(t, db, item, `{"level": "hash"}`); word != lease.Covered {
		t.Errorf("again: %s", word)
	}
	item.Owner = lease.NewOwner("h1")
	if word := complete(t, db, item, `{}`); word != lease.Lost {
		t.Errorf("to another process: %s", word)
	}
	wantKinds(t, l, id, "created", "claimed", "ran", "done")
	sound(t, db)
}

func TestOlderCaptureNeverReplacesANewerCover(t *testing.T) {
	t.Parallel()
	l, db, old := backup(t, policy{})
	// The old one ran, and waits for its verify when a newer one is covered.
	late := l.captured(t, "old")
	finish(t, db, start(t, db, claimOne(t, db, backups, "app")), late)
	l.exec(t, "set_aside", old)
	young := l.put(t, backups, "app", "m2")
	item := finish(t, db, start(t, db, claimOne(t, db, backups, "app")), l.captured(t, "new"))
	if word := complete(t, db, item, `{}`); word != lease.Covered {
		t.Fatalf("got %s", word)
	}
	covered := l.Scope(t, backups, "app")
	// It comes back and is proven under a newer fence.
	l.exec(t, "put_back", old)
	item = start(t, db, claimOne(t, db, backups, "app"))
	if item.Item != old || item.Step != lease.Verify || item.Fence <= covered.Fence {
		t.Fatalf("got %+v", item)
	}
	for range 2 { // the second is the reply that was lost
		if word := complete(t, db, item, `{}`); word != lease.Superseded {
			t.Errorf("got %s", word)
		}
	}
	if row := l.Row(t, old); row.State != "done" {
		t.Errorf("row is %+v", row)
	}
	if got := l.Scope(t, backups, "app"); fmt.Sprint(got) != fmt.Sprint(covered) || got.Item != young {
		t.Errorf("cover was %+v, is %+v", covered, got)
	}
}

func TestChangeThatOverlappedTheRunIsUncoveredSinceTheSnapshot(t *testing.T) {
	t.Parallel()
	for name, overlapped := range map[string]bool{"overlapped": true, "quiet": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, db, _ := backup(t, policy{})
			item := start(t, db, claimOne(t, db, backups, "app"))
			l.exec(t, "observe", backups, "app", "m1", l.Ticket(t))
			result := l.captured(t, "m1")
			if overlapped {
				l.exec(t, "observe", backups, "app", "m2", l.Ticket(t))
			}
			complete(t, db, finish(t, db, item, result), `{}`)
			want := time.Time{}
			if overlapped {
				want = result.TakenAt
			}
			if _, since := l.scope(t, backups, "app"); !since.Equal(want) {
				t.Errorf("uncovered since %s, want %s", since, want)
			}
		})
	}
}

func TestBadEndsInARowAreClearedBySuccessOnly(t *testing.T) {
	t.Parallel()
	for _, workType := range []string{backups, batches} {
		t.Run(workType, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			db := l.open(t)
			l.allow(t, workType, policy{Policy: leasetest.Policy{Coalesces: workType == backups, MaxFailures: 1, MaxCrashes: 1, MaxClaims: 2}}, "s")
			streak := func(want int) {
				t.Helper()
				if got := l.Scope(t, workType, "s").Streak; got != want {
					t.Errorf("streak is %d, want %d", got, want)
				}
			}
			next := func(key string) lease.Item {
				l.put(t, workType, "s", key)
				return start(t, db, claimOne(t, db, workType, "s"))
			}
			if word := fail(t, db, next("1"), lease.Permanent, "").Outcome; word != lease.Failed {
				t.Errorf("got %s", word)
			}
			streak(1)
			if word := fail(t, db, next("2"), lease.Transient, "").Outcome; word != lease.Quarantined {
				t.Errorf("got %s", word)
			}
			streak(2)
			item := next("3")
			l.MoveLease(t, item.Item, -time.Second)
			if got := reclaim(t, db); len(got) != 1 || got[0].Outcome != lease.Quarantined {
				t.Errorf("got %+v", got)
			}
			streak(3)
			giveBack(t, db, next("4"))
			streak(3)
			if word := giveBack(t, db, claimOne(t, db, workType, "s")).Outcome; word != lease.Quarantined {
				t.Errorf("got %s", word)
			}
			streak(4)
			complete(t, db, finish(t, db, next("5"), l.captured(t, "5")), `{}`)
			streak(0)
		})
	}
}

func TestFailureIsChargedByItsClass(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		class           lease.Class
		verifying       bool
		outcome         lease.Outcome
		kind, state     string
		step            lease.Step // that is next
		claims, failed  int        // charged
		atLeast, atMost time.Duration
	}{
		"transient in run":    {lease.Transient, false, lease.Retried, "retried", "queued", lease.Run, 1, 1, 2 * time.Second, 5 * time.Second},
		"transient in verify": {lease.Transient, true, lease.Retried, "retried", "queued", lease.Verify, 1, 1, 2 * time.Second, 5 * time.Second},
		"blocked in run":      {lease.Blocked, false, lease.BlockedWait, "retried", "queued", lease.Run, 0, 0, 14 * time.Minute, 15 * time.Minute},
		"blocked in verify":   {lease.Blocked, true, lease.BlockedWait, "retried", "queued", lease.Verify, 0, 0, 14 * time.Minute, 15 * time.Minute},
		"permanent":           {lease.Permanent, false, lease.Failed, "failed", "failed", lease.Run, 1, 1, 0, 0},
		"refuted":             {lease.Refuted, true, lease.RefutedNow, "refuted", "queued", lease.Run, 1, 1, 2 * time.Second, 5 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, db, id := backup(t, policy{})
			item := start(t, db, claimOne(t, db, backups, "app"))
			kinds := []string{"created", "claimed"}
			if tt.verifying {
				item = finish(t, db, item, l.captured(t, "m1"))
				kinds = append(kinds, "ran")
			}
			reason := "bad \"quote\" \x00\x01\x1f \u2028 \U0001F600 \xff end"
			ended := fail(t, db, item, tt.class, reason)
			row := l.Row(t, id)
			if ended.Outcome != tt.outcome || row.State != tt.state || row.Step != tt.step || row.Claims != tt.claims || row.Failures != tt.failed || row.Crashes != 0 {
				t.Errorf("got %+v and %+v", ended, row)
			}
			if want := "bad \"quote\" \x01\x1f \u2028 \U0001F600 \uFFFD end"; row.LastError != want {
				t.Errorf("kept %q, want %q", row.LastError, want)
			}
			if tt.state == "queued" {
				if wait := ended.Again.Sub(l.Now(t)); wait < tt.atLeast || wait > tt.atMost || !ended.Again.Equal(row.RunAt) {
					t.Errorf("again in %s, at %s, row says %s", wait, ended.Again, row.RunAt)
				}
			} else if !ended.Again.IsZero() || row.Finished.IsZero() {
				t.Errorf("again at %s, finished at %s", ended.Again, row.Finished)
			}
			if kept := row.Result.Ticket != 0; kept != (tt.step == lease.Verify) {
				t.Errorf("result is %+v", row.Result)
			}
			wantKinds(t, l, id, append(kinds, tt.kind)...)
			// A reply that was lost is answered again.
			if again := fail(t, db, item, tt.class, reason); fmt.Sprint(again) != fmt.Sprint(ended) {
				t.Errorf("again: %+v, was %+v", again, ended)
			}
			if again := l.Row(t, id); again.Failures != tt.failed || again.Claims != tt.claims {
				t.Errorf("charged twice: %+v", again)
			}
			sound(t, db)
		})
	}
}

func TestBlockedWorkIsNeverQuarantined(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{Policy: leasetest.Policy{MaxFailures: 1, MaxClaims: 2, BlockedWait: time.Second}})
	for range 6 {
		l.due(t, id)
		if word := fail(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Blocked, "disk full").Outcome; word != lease.BlockedWait {
			t.Fatalf("got %s", word)
		}
	}
}

func TestCeilingOfFailuresIsExactAndTheScopesOwnFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true, MaxFailures: 3}}, "type", "own")
	l.exec(t, "scope_set", backups, "own", nil, 2, nil)
	for scope, most := range map[string]int{"type": 3, "own": 2} {
		id := l.put(t, backups, scope, "m")
		var got []lease.Outcome
		var waits []time.Duration
		for range most {
			l.due(t, id)
			ended := fail(t, db, start(t, db, claimOne(t, db, backups, scope)), lease.Transient, "no")
			got = append(got, ended.Outcome)
			if !ended.Again.IsZero() {
				waits = append(waits, ended.Again.Sub(l.Now(t)))
			}
		}
		want := strings.Repeat("retried ", most-1) + "quarantined"
		if text := strings.Trim(fmt.Sprint(got), "[]"); text != want {
			t.Errorf("%s: got %s, want %s", scope, text, want)
		}
		for n, wait := range waits { // 5 s doubled each time, jittered by half
			if longest := 5 * time.Second << n; wait > longest || wait < longest/2-time.Second {
				t.Errorf("%s: wait %d is %s, want up to %s", scope, n, wait, longest)
			}
		}
	}
}

func TestRefutedResultBurnsItsGeneration(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	item := finish(t, db, start(t, db, claimOne(t, db, backups, "app")), l.captured(t, "captured"))
	if word := fail(t, db, item, lease.Refuted, "hash differs").Outcome; word != lease.RefutedNow {
		t.Fatalf("got %s", word)
	}
	// sha256 of the marker that made the work, not of the one that run captured.
	sum := sha256.Sum256([]byte("m1"))
	key := hex.EncodeToString(sum[:])
	row := l.Row(t, id)
	if row.Generation != lease.NewSerial(1, 2) || row.DedupeKey != key+"@1:2" || l.Scope(t, backups, "app").Generation != lease.NewSerial(1, 2) {
		t.Errorf("row is %+v, scope %+v", row, l.Scope(t, backups, "app"))
	}
	// Where the scope has moved on meanwhile, the next attempt is not below it.
	l.due(t, id)
	item = finish(t, db, start(t, db, claimOne(t, db, backups, "app")), l.captured(t, "captured"))
	l.exec(t, "generation", backups, "app", lease.NewSerial(1, 9))
	fail(t, db, item, lease.Refuted, "hash differs")
	if row := l.Row(t, id); row.Generation != lease.NewSerial(1, 9) || row.DedupeKey != key+"@1:9" {
		t.Errorf("row is %+v", row)
	}
	l.due(t, id)
	item = start(t, db, claimOne(t, db, backups, "app"))
	if item.Step != lease.Run || item.Result.Ticket != 0 || item.Generation != lease.NewSerial(1, 9) {
		t.Errorf("got %+v", item)
	}
	complete(t, db, finish(t, db, item, l.captured(t, "good")), `{}`)
	if scope := l.Scope(t, backups, "app"); scope.CoverOf != lease.NewSerial(1, 9) || scope.Generation != lease.NewSerial(1, 10) {
		t.Errorf("scope is %+v", scope)
	}
	sound(t, db)
}

func TestRefutedBatchKeepsItsKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s")
	id := l.put(t, batches, "s", "business")
	item := finish(t, db, start(t, db, claimOne(t, db, batches, "s")), lease.Result{})
	fail(t, db, item, lease.Refuted, "no")
	if row := l.Row(t, id); row.DedupeKey != "business" || row.Step != lease.Run || row.Generation != lease.NewSerial(1, 1) {
		t.Errorf("row is %+v", row)
	}
}

func TestWorkGivenBackIsChargedItsClaimOnly(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{Policy: leasetest.Policy{MaxClaims: 3}})
	for n := 1; n <= 3; n++ {
		item := start(t, db, claimOne(t, db, backups, "app"))
		ended := giveBack(t, db, item)
		row := l.Row(t, id)
		if row.Claims != n || row.Failures != 0 || row.Crashes != 0 {
			t.Errorf("charged %+v", row)
		}
		want := lease.GivenBack
		if n == 3 {
			want = lease.Quarantined
		}
		if ended.Outcome != want || ended.Again.IsZero() != (n == 3) || ended.Again.After(l.Now(t)) {
			t.Errorf("got %+v, want %s", ended, want)
		}
		if again := giveBack(t, db, item); again.Outcome != lease.Lost {
			t.Errorf("again: %+v", again)
		}
	}
	wantKinds(t, l, id, "created", "claimed", "given_back", "claimed", "given_back", "claimed", "quarantined")
	sound(t, db)
}
