package leasetest

import (
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// transientFailureEndsAtTheCeiling: each is counted and waits, a failure of verify
// keeps the result, and the last one quarantines.
func transientFailureEndsAtTheCeiling(w *world) {
	policy := lenient()
	policy.MaxFailures = 3
	w.allow(covering, policy, "s")
	id := w.one()

	item := w.run(w.a)
	now := w.h.Now(w)
	ended := w.fail(w.a, item.Holder, lease.Transient)
	w.want("outcome", ended.Outcome, lease.Retried)
	if !ended.Again.After(now) {
		w.Errorf("tried again at %s, which is not after %s", ended.Again, now)
	}
	row := w.row(id)
	w.want("state", row.State, "queued")
	w.want("failures", row.Failures, 1)
	w.want("reason", row.LastError, "reason: transient")
	if !row.RunAt.Equal(ended.Again) {
		w.Errorf("the row is due at %s, the answer says %s", row.RunAt, ended.Again)
	}
	w.want("claimed before its time", len(w.claim(w.b, "host", 1)), 0)

	w.due(id)
	item, result := w.ran(w.a)
	item = w.start(w.a, lease.Verify, item.Holder)
	w.want("outcome", w.fail(w.a, item.Holder, lease.Transient).Outcome, lease.Retried)
	row = w.row(id)
	w.want("step", row.Step, lease.Verify)
	w.want("marker of the result", row.Result.Marker, result.Marker)

	w.due(id)
	item = w.start(w.a, lease.Verify, w.take(w.a).Holder)
	ended = w.fail(w.a, item.Holder, lease.Transient)
	w.want("outcome", ended, lease.Ended{Item: id, Outcome: lease.Quarantined})
	w.want("state", w.row(id).State, "quarantined")
	w.want("bad ends in a row", w.h.Scope(w, covering, "s").Streak, 1)
	if w.h.Scope(w, covering, "s").Covered {
		w.Errorf("a scope is covered by work that was never proven")
	}
}

// permanentFailureIsFinal: the input is wrong, whatever the ceiling says.
func permanentFailureIsFinal(w *world) {
	id := w.one()
	item := w.run(w.a)
	w.want("outcome", w.fail(w.a, item.Holder, lease.Permanent), lease.Ended{Item: id, Outcome: lease.Failed})
	w.want("state", w.row(id).State, "failed")
	w.want("claimed", len(w.claim(w.a, "host", 1)), 0)
	w.want("bad ends in a row", w.h.Scope(w, covering, "s").Streak, 1)
}

// blockedChargesNothing: half a day of bad surroundings quarantines no work.
func blockedChargesNothing(w *world) {
	policy := lenient()
	policy.MaxFailures, policy.MaxCrashes, policy.MaxClaims = 1, 1, 2
	w.allow(covering, policy, "s")
	id := w.one()
	for range 5 {
		item := w.run(w.a)
		before := w.h.Now(w)
		ended := w.fail(w.a, item.Holder, lease.Blocked)
		after := w.h.Now(w)
		w.want("outcome", ended.Outcome, lease.BlockedWait)
		if ended.Again.Before(before.Add(15*time.Minute-time.Second)) || ended.Again.After(after.Add(15*time.Minute+time.Second)) {
			w.Errorf("tried again at %s, want a flat quarter of an hour after %s", ended.Again, before)
		}
		row := w.row(id)
		w.want("state", row.State, "queued")
		w.want("claims charged", row.Claims, 0)
		w.want("failures charged", row.Failures, 0)
		w.want("crashes charged", row.Crashes, 0)
		w.want("reason", row.LastError, "reason: blocked")
		w.due(id)
	}
	w.ran(w.a)
}

// refutedBurnsTheGeneration: a result that was proven wrong is gone, and what was
// published for it can never become the good one.
func refutedBurnsTheGeneration(w *world) {
	policy := lenient()
	policy.MaxFailures = 2
	w.allow(covering, policy, "s")
	id := w.one()
	before := w.row(id)

	item, _ := w.ran(w.a)
	item = w.start(w.a, lease.Verify, item.Holder)
	w.want("outcome", w.fail(w.a, item.Holder, lease.Refuted).Outcome, lease.RefutedNow)
	row := w.row(id)
	w.want("state", row.State, "queued")
	w.want("step", row.Step, lease.Run)
	w.want("result", row.Result, lease.Result{})
	w.want("failures", row.Failures, 1)
	if row.Generation <= before.Generation || row.DedupeKey == before.DedupeKey {
		w.Errorf("generation %s and key %s came after %s and %s", row.Generation, row.DedupeKey, before.Generation, before.DedupeKey)
	}
	if next := w.h.Scope(w, covering, "s").Generation; next < row.Generation {
		w.Errorf("the scope's generation %s is behind its item's %s", next, row.Generation)
	}

	w.due(id)
	item, _ = w.ran(w.a)
	w.want("generation handed out", item.Generation, row.Generation)
	item = w.start(w.a, lease.Verify, item.Holder)
	w.want("at the ceiling", w.fail(w.a, item.Holder, lease.Refuted).Outcome, lease.Quarantined)
	last := w.row(id)
	w.want("result at the ceiling", last.Result, lease.Result{})
	if last.Generation <= row.Generation {
		w.Errorf("generation %s came after %s", last.Generation, row.Generation)
	}
	if w.h.Scope(w, covering, "s").Covered {
		w.Errorf("a scope is covered by a result that was refuted")
	}
}

// endlessGiveBacksEnd: an interruption charges neither failure nor crash and costs no
// wait, but work that is interrupted for ever ends at the ceiling on claims.
func endlessGiveBacksEnd(w *world) {
	policy := lenient()
	policy.MaxFailures, policy.MaxCrashes, policy.MaxClaims = 1, 1, 3
	w.allow(covering, policy, "s")
	id := w.one()
	for claim := 1; claim <= 3; claim++ {
		item := w.run(w.a)
		ended := w.giveBack(w.a, item.Holder)
		row := w.row(id)
		w.want("failures", row.Failures, 0)
		w.want("crashes", row.Crashes, 0)
		w.want("claims", row.Claims, claim)
		if claim < 3 {
			w.want("outcome", ended.Outcome, lease.GivenBack)
			w.want("state", row.State, "queued")
			if ended.Again.IsZero() || ended.Again.After(w.h.Now(w)) {
				w.Errorf("given back until %s, want at once", ended.Again)
			}
		} else {
			w.want("outcome", ended, lease.Ended{Item: id, Outcome: lease.Quarantined})
			w.want("state", row.State, "quarantined")
		}
	}
}
