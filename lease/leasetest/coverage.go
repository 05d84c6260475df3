package leasetest

import (
	"encoding/json"
	"fmt"

	"github.com/heyaira/heyaira-loop/lease"
)

// coverageMovesOnlyToANewerTicket: what is covered is what run captured, in the order
// of the looks and not of the proofs.
func coverageMovesOnlyToANewerTicket(w *world) {
	old := w.h.Ticket(w)
	first := w.one()
	before := w.h.Scope(w, covering, "s")
	w.want("covered at the beginning", before.Covered, false)

	item := w.run(w.a)
	result := w.capture(item)
	result.Marker = "what run really saw"
	w.finish(w.a, item.Holder, result)
	w.want("covered before the proof", w.h.Scope(w, covering, "s").Covered, false)
	w.want("outcome", w.prove(w.a, item.Holder), lease.Ended{Item: first, Outcome: lease.Covered})
	row := w.row(first)
	w.want("state", row.State, "done")
	w.wantJSON("evidence", row.Evidence, json.RawMessage(`{"level":"hash"}`))
	cover := w.h.Scope(w, covering, "s")
	w.want("marker", cover.Marker, "what run really saw")
	w.want("ticket", cover.Ticket, result.Ticket)
	w.want("item", cover.Item, first)
	w.want("fence", cover.Fence, item.Fence)
	w.want("covered generation", cover.CoverOf, item.Generation)
	w.wantJSON("evidence of the cover", cover.Evidence, json.RawMessage(`{"level":"hash"}`))
	if cover.Generation <= item.Generation {
		w.Errorf("generation %s was covered and the next is %s", item.Generation, cover.Generation)
	}

	// A look from before that cover is proven after it.
	second := w.one()
	late := w.run(w.a)
	result = w.capture(late)
	result.Ticket = old
	w.finish(w.a, late.Holder, result)
	w.want("outcome", w.prove(w.a, late.Holder), lease.Ended{Item: second, Outcome: lease.Superseded})
	w.want("state", w.row(second).State, "done")
	after := w.h.Scope(w, covering, "s")
	after.Generation = cover.Generation // it may move on, never back
	w.want("scope", after, cover)

	third := w.one()
	newer, _ := w.ran(w.a)
	w.want("outcome", w.prove(w.a, newer.Holder), lease.Ended{Item: third, Outcome: lease.Covered})
	w.want("item", w.h.Scope(w, covering, "s").Item, third)
}

// whatCoversNothingEndsDone: work of a type that does not coalesce needs no capture.
func whatCoversNothingEndsDone(w *world) {
	policy := lenient()
	policy.Coalesces = false
	w.allow(batch, policy, "s")
	id := w.put(batch, "s")
	item := w.run(w.a)
	w.finish(w.a, item.Holder, lease.Result{Data: json.RawMessage(`{}`)})
	w.want("outcome", w.prove(w.a, item.Holder), lease.Ended{Item: id, Outcome: lease.Done})
	w.want("covered", w.h.Scope(w, batch, "s").Covered, false)

	// A success ends a row of bad ends.
	for range 2 {
		w.put(batch, "s")
		w.fail(w.a, w.run(w.a).Holder, lease.Permanent)
	}
	w.want("bad ends in a row", w.h.Scope(w, batch, "s").Streak, 2)
	w.put(batch, "s")
	item = w.run(w.a)
	w.finish(w.a, item.Holder, lease.Result{Data: json.RawMessage(`{}`)})
	w.prove(w.a, item.Holder)
	w.want("bad ends after a success", w.h.Scope(w, batch, "s").Streak, 0)
}

// resultWithoutACapture: a result that does not say what it captured is refused as a
// whole, and the work stays as it was.
func resultWithoutACapture(w *world) {
	id := w.one()
	item := w.run(w.a)
	_, err := w.a.Finish(w.Context(), []lease.Finished{{Holder: item.Holder, Result: lease.Result{Data: json.RawMessage(`{}`)}}})
	if err == nil {
		w.Errorf("a result without marker, ticket and time was taken")
	}
	row := w.row(id)
	w.want("step", row.Step, lease.Run)
	w.want("state", row.State, "leased")
	// Nothing of it is proven either.
	ended, err := w.a.Complete(w.Context(), []lease.Proof{{Holder: item.Holder, Evidence: json.RawMessage(`{}`)}})
	w.must(err)
	w.want(fmt.Sprintf("completed of item %d", id), len(ended), 0)
	w.want("covered", w.h.Scope(w, covering, "s").Covered, false)
}
