package leasetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// mutualExclusion: of any number of claimers exactly one gets an item, and fences
// only grow.
func mutualExclusion(w *world) {
	const workers, scopes = 8, 12
	for i := range scopes {
		w.allow(covering, lenient(), fmt.Sprint("s", i))
		w.put(covering, fmt.Sprint("s", i))
	}
	var mu sync.Mutex
	claimed := map[int64]lease.Holder{}
	fences := map[lease.Serial]bool{}
	w.atOnce(workers, func(_ int, by Handle) error {
		for range scopes {
			items, err := by.Claim(w.Context(), lease.Request{Scopes: w.scopes, Limit: 2, Owner: lease.NewOwner("host")})
			if err != nil {
				return err
			}
			mu.Lock()
			for _, item := range items {
				if _, twice := claimed[item.Item]; twice || fences[item.Fence] {
					w.Errorf("item %d or fence %s was handed out twice", item.Item, item.Fence)
				}
				claimed[item.Item], fences[item.Fence] = item.Holder, true
			}
			mu.Unlock()
			if len(items) == 0 {
				break
			}
		}
		return nil
	})
	w.want("claimed items", len(claimed), scopes)
	for id, held := range claimed {
		row := w.row(id)
		w.want("owner of the row", row.Owner, held.Owner)
		w.want("fence of the row", row.Fence, held.Fence)
	}
	w.want("claimed while all are held", len(w.claim(w.a, "host", scopes)), 0)

	// A fence is never drawn below one before it, also for work that comes back.
	for id, held := range claimed {
		w.lose(id)
		if again := w.take(w.a); again.Fence <= held.Fence {
			w.Errorf("item %d: fence %s came after %s", id, again.Fence, held.Fence)
		}
	}
}

// capIsExact: max_running holds for any number of claimers, and what ends makes room.
func capIsExact(w *world) {
	const workers, scopes, most = 8, 12, 3
	policy := lenient()
	policy.MaxRunning = most
	for i := range scopes {
		w.allow(covering, policy, fmt.Sprint("s", i))
		w.put(covering, fmt.Sprint("s", i))
	}
	for round := range 3 {
		var mu sync.Mutex
		var claimed []lease.Item
		w.atOnce(workers, func(worker int, by Handle) error {
			items, err := by.Claim(w.Context(), lease.Request{Scopes: w.scopes, Limit: scopes, Owner: lease.NewOwner(fmt.Sprint("host", worker))})
			mu.Lock()
			defer mu.Unlock()
			claimed = append(claimed, items...)
			return err
		})
		w.want(fmt.Sprint("claimed under the cap in round ", round), len(claimed), most)
		for _, item := range claimed {
			w.giveBack(w.a, item.Holder)
			w.h.MoveRun(w, item.Item, time.Hour) // out of the next round's way
		}
	}
}

// capPerHostIsExact: max_running_per_host counts by the host in the owner.
func capPerHostIsExact(w *world) {
	const workers, scopes = 8, 8
	policy := lenient()
	policy.MaxRunningPerHost = 1
	for i := range scopes {
		w.allow(covering, policy, fmt.Sprint("s", i))
		w.put(covering, fmt.Sprint("s", i))
	}
	var mu sync.Mutex
	hosts := map[string]int{}
	w.atOnce(workers, func(worker int, by Handle) error {
		host := fmt.Sprint("host", worker%2)
		items, err := by.Claim(w.Context(), lease.Request{Scopes: w.scopes, Limit: scopes, Owner: lease.NewOwner(host)})
		mu.Lock()
		defer mu.Unlock()
		hosts[host] += len(items)
		return err
	})
	w.want("claimed by host", hosts, map[string]int{"host0": 1, "host1": 1})
}

// claimTakesOnlyWhatWasAskedFor: no scope of another host's configuration, no work
// that is not due, and of each type no more than the limit.
func claimTakesOnlyWhatWasAskedFor(w *world) {
	w.allow(covering, lenient(), "mine", "other", "later")
	mine := w.put(covering, "mine")
	w.put(covering, "other")
	later := w.put(covering, "later")
	w.h.MoveRun(w, later, time.Hour)
	plain := lenient()
	plain.Coalesces = false
	w.allow(batch, plain, "mine")
	first := w.put(batch, "mine")
	second := w.put(batch, "mine")
	w.h.MoveRun(w, first, -time.Hour)

	owner := lease.NewOwner("host")
	items, err := w.a.Claim(w.Context(), lease.Request{
		Scopes: map[string][]string{covering: {"mine", "later"}, batch: {"mine"}},
		Limit:  1, Owner: owner,
	})
	w.must(err)
	got := map[int64]bool{}
	for _, item := range items {
		got[item.Item] = true
		row := w.row(item.Item)
		w.want("step", item.Step, lease.Run)
		w.want("owner", item.Owner, owner)
		w.want("claims", item.Claims, 1)
		w.want("ttl", item.TTL, time.Minute)
		w.want("head", item.Head, row.Head)
		w.want("dedupe key", item.DedupeKey, row.DedupeKey)
		w.want("generation", item.Generation, row.Generation)
		if left := item.Until.Sub(item.Now); left < 55*time.Second || left > 65*time.Second {
			w.Errorf("a lease of a minute ends after %s", left)
		}
	}
	w.want("claimed", got, map[int64]bool{mine: true, first: true})
	w.want("state of the second of the type", w.row(second).State, "queued")
}

// scopesTakeTurns: a backlog of one scope delays no other, and oldest comes first.
func scopesTakeTurns(w *world) {
	policy := lenient()
	policy.Coalesces = false
	w.allow(batch, policy, "big", "small")
	var big []int64
	for range 4 {
		big = append(big, w.put(batch, "big"))
	}
	small := w.put(batch, "small")
	for i, item := range big {
		w.h.MoveRun(w, item, time.Duration(i-100)*time.Second)
	}
	got := map[int64]bool{}
	for _, item := range w.claim(w.a, "host", 2) {
		got[item.Item] = true
	}
	w.want("first turn", got, map[int64]bool{big[0]: true, small: true})
}

// documentReadTwiceStartsOnce: the owner changes hands at the start, so of all that
// read a document one starts its work.
func documentReadTwiceStartsOnce(w *world) {
	id := w.one()
	document := w.take(w.a).Holder

	var mu sync.Mutex
	var started []lease.Item
	w.atOnce(8, func(_ int, by Handle) error {
		items, err := by.Start(w.Context(), lease.NewOwner("host"), lease.Run, []lease.Holder{document})
		mu.Lock()
		defer mu.Unlock()
		started = append(started, items...)
		return err
	})
	if len(started) != 1 {
		w.Fatalf("started %d times, want once", len(started))
	}
	mine := started[0]
	w.want("owner of the row", w.row(id).Owner, mine.Owner)

	// Sent again after a lost reply it answers as before.
	again, err := w.b.Start(w.Context(), mine.Owner, lease.Run, []lease.Holder{document})
	w.must(err)
	w.want("answers to the same owner", len(again), 1)

	kept, err := w.a.Renew(w.Context(), []lease.Progress{{Holder: document}})
	w.must(err)
	w.want("renewed by the document's owner", len(kept), 0)
	wrong, err := w.a.Start(w.Context(), mine.Owner, lease.Verify, []lease.Holder{document})
	w.must(err)
	w.want("started for another step", len(wrong), 0)

	w.finish(w.a, mine.Holder, w.capture(mine))
	w.want("ended", w.prove(w.b, mine.Holder).Outcome, lease.Covered)
}

// renewalFollowsThePolicy: a renewal lasts as long as the policy says now, tells so,
// and notes how far the work has come.
func renewalFollowsThePolicy(w *world) {
	id := w.one()
	item := w.run(w.a)
	shorter := lenient()
	shorter.TTL = 10 * time.Second
	w.h.Allow(w, covering, shorter, "s")
	before := w.h.Now(w)
	kept, err := w.a.Renew(w.Context(), []lease.Progress{{Holder: item.Holder, Bytes: 4096, Stage: "dump"}})
	w.must(err)
	if len(kept) != 1 {
		w.Fatalf("renewed %d leases, want 1", len(kept))
	}
	w.want("ttl", kept[0].TTL, 10*time.Second)
	row := w.row(id)
	if !row.Until.Equal(kept[0].Until) {
		w.Errorf("the row's lease ends at %s, the answer's at %s", row.Until, kept[0].Until)
	}
	if left := row.Until.Sub(before); left < 5*time.Second || left > 30*time.Second {
		w.Errorf("a lease of ten seconds ends after %s", left)
	}
	w.want("bytes", row.Bytes, int64(4096))
	w.want("stage", row.Stage, "dump")
}
