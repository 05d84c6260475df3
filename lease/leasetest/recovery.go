package leasetest

import (
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// killedWorkerRecovery: what a dead worker held comes back, a renewed lease does not,
// and work that kills its workers ends quarantined exactly at the ceiling.
func killedWorkerRecovery(w *world) {
	policy := lenient()
	policy.MaxCrashes = 3
	w.allow(covering, policy, "s")
	id := w.one()

	first := w.run(w.a)
	w.h.MoveLease(w, id, time.Second)
	kept, err := w.a.Renew(w.Context(), []lease.Progress{{Holder: first.Holder}})
	w.must(err)
	w.want("renewed", len(kept), 1)
	w.want("reclaimed of a live lease", len(w.reclaim(w.b)), 0)

	for crash := 1; crash <= 3; crash++ {
		if crash > 1 {
			w.run(w.a)
		}
		w.expire(id)
		// Expired is not yet free: only reclaim makes it so.
		w.want("claimed before reclaim", len(w.claim(w.b, "other", 1)), 0)
		taken := w.reclaim(w.b)
		if len(taken) != 1 {
			w.Fatalf("crash %d: reclaimed %d items, want 1", crash, len(taken))
		}
		outcome := lease.GivenBack
		if crash == 3 {
			outcome = lease.Quarantined
		}
		w.want("reclaimed", taken[0], lease.Reclaimed{Item: id, WorkType: covering, Scope: "s", Outcome: outcome, Crashes: crash})
		row := w.row(id)
		w.want("crashes", row.Crashes, crash)
		w.want("owner", row.Owner, "")
		if crash < 3 {
			w.want("state", row.State, "queued")
			if !row.RunAt.After(w.h.Now(w)) {
				w.Errorf("crash %d: tried again without a wait", crash)
			}
			w.due(id)
		}
	}
	row := w.row(id)
	w.want("state", row.State, "quarantined")
	if row.LastError == "" || row.Finished.IsZero() {
		w.Errorf("quarantined without a reason or an end: %q, %s", row.LastError, row.Finished)
	}
	w.want("bad ends in a row", w.h.Scope(w, covering, "s").Streak, 1)
	w.want("claimed of quarantined work", len(w.claim(w.a, "host", 1)), 0)
	w.want("reclaimed once more", len(w.reclaim(w.b)), 0)
}

// crashChargedOnlyAtStart: a document that waited beside the one that killed the
// process is innocent; endless waiting is held by the ceiling on claims.
func crashChargedOnlyAtStart(w *world) {
	policy := lenient()
	policy.MaxCrashes, policy.MaxClaims = 1, 3
	w.allow(covering, policy, "s")
	id := w.one()
	for claim := 1; claim <= 3; claim++ {
		w.take(w.a)
		w.expire(id)
		taken := w.reclaim(w.b)
		if len(taken) != 1 {
			w.Fatalf("reclaimed %d items, want 1", len(taken))
		}
		outcome := lease.GivenBack
		if claim == 3 {
			outcome = lease.Quarantined
		}
		w.want("outcome", taken[0].Outcome, outcome)
		w.want("crashes", taken[0].Crashes, 0)
		if row := w.row(id); claim < 3 && row.RunAt.After(w.h.Now(w)) {
			w.Errorf("work that never began has to wait until %s", row.RunAt)
		}
	}
	w.want("claims", w.row(id).Claims, 3)
}

// verifyThatDiedKeepsItsResult: nothing is run twice because its proof was cut short.
func verifyThatDiedKeepsItsResult(w *world) {
	id := w.one()
	item, result := w.ran(w.a)
	w.start(w.a, lease.Verify, item.Holder)
	w.want("crashes", w.lose(id).Crashes, 1)

	again := w.take(w.b)
	w.want("step", again.Step, lease.Verify)
	w.wantJSON("result", again.Result.Data, result.Data)
	w.want("marker", again.Result.Marker, result.Marker)
	w.want("ticket", again.Result.Ticket, result.Ticket)
	if !again.Result.TakenAt.Equal(result.TakenAt) {
		w.Errorf("taken at %s, want %s", again.Result.TakenAt, result.TakenAt)
	}
	started, err := w.b.Start(w.Context(), lease.NewOwner("host"), lease.Run, []lease.Holder{again.Holder})
	w.must(err)
	w.want("started for run", len(started), 0)
	w.want("outcome", w.prove(w.b, again.Holder).Outcome, lease.Covered)
	w.want("covered item", w.h.Scope(w, covering, "s").Item, id)
}

// farExpiryIsPulledBack: a clock that stepped back leaves a lease that would not end
// for ages; it ends no later than a lease may, and its holder keeps it until then.
func farExpiryIsPulledBack(w *world) {
	id := w.one()
	item := w.run(w.a)
	w.h.MoveLease(w, id, 100*time.Hour)
	w.want("reclaimed", len(w.reclaim(w.b)), 0)
	if left := w.row(id).Until.Sub(w.h.Now(w)); left > 2*time.Minute || left < 30*time.Second {
		w.Errorf("a lease of a minute ends after %s", left)
	}
	kept, err := w.a.Renew(w.Context(), []lease.Progress{{Holder: item.Holder}})
	w.must(err)
	w.want("renewed", len(kept), 1)
}

// reclaimStopsAtItsLimit: and takes the rest the next time.
func reclaimStopsAtItsLimit(w *world) {
	for _, scope := range []string{"a", "b", "c"} {
		w.allow(covering, lenient(), scope)
		w.put(covering, scope)
	}
	for _, item := range w.claim(w.a, "host", 3) {
		w.expire(item.Item)
	}
	for _, want := range []int{2, 1, 0} {
		taken, err := w.b.Reclaim(w.Context(), 2)
		w.must(err)
		w.want("reclaimed", len(taken), want)
	}
}
