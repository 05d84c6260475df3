package leasetest

import (
	"strings"

	"github.com/heyaira/heyaira-loop/lease"
)

// after is the state that each kind of receipt leaves an item in.
func after(kind string) string {
	switch kind {
	case "created", "advanced", "retried", "refuted", "reclaimed", "given_back", "requeued":
		return "queued"
	case "claimed", "ran":
		return "leased"
	}
	return kind
}

// reconcile walks an item's chain: it is whole, and its last receipt of a change of
// state is the state of the row.
func (w *world) reconcile(item int64) {
	w.Helper()
	row := w.row(item)
	head, state := "", ""
	claims := 0
	var fence lease.Serial
	for i, event := range w.h.Events(w, item) {
		r := event.Receipt
		r.Previous = head
		if digest := r.Digest(); digest != event.Digest {
			w.Errorf("item %d: receipt %d (%s) has digest %s, recomputed %s", item, r.No, r.Kind, event.Digest, digest)
		}
		w.want("number", r.No, i+1)
		w.want("item", r.Item, item)
		head = event.Digest
		if strings.HasPrefix(r.Kind, "effect_") {
			continue // a late one may come after anything
		}
		state = after(r.Kind)
		if r.Kind == "claimed" {
			claims++
			if r.Fence <= fence {
				w.Errorf("item %d: fence %s came after %s", item, r.Fence, fence)
			}
			fence = r.Fence
		}
		if state == "leased" && (r.Fence != fence || r.Owner == "") {
			w.Errorf("item %d: receipt %d (%s) names fence %s and owner %q", item, r.No, r.Kind, r.Fence, r.Owner)
		}
	}
	w.want("state by the receipts", state, row.State)
	w.want("head", row.Head, head)
	if row.State == "leased" {
		w.want("fence by the receipts", fence, row.Fence)
	}
	if row.Claims > claims {
		w.Errorf("item %d: %d claims are charged, %d receipted", item, row.Claims, claims)
	}
}

// receiptsReconcile: a life with a crash, a wait, a give-back, a failure and a refuted
// result leaves exactly its receipts, each computed again, ending where the row stands.
func receiptsReconcile(w *world) {
	id := w.one()
	w.run(w.a)
	w.lose(id)
	w.giveBack(w.a, w.run(w.a).Holder)
	w.fail(w.a, w.run(w.a).Holder, lease.Blocked)
	w.due(id)
	w.fail(w.a, w.run(w.a).Holder, lease.Transient)
	w.due(id)
	item, _ := w.ran(w.a)
	item = w.start(w.a, lease.Verify, item.Holder)
	w.fail(w.a, item.Holder, lease.Refuted)
	w.due(id)
	item, _ = w.ran(w.a)
	w.prove(w.a, item.Holder)

	var kinds []string
	for _, event := range w.h.Events(w, id) {
		kinds = append(kinds, event.Kind)
	}
	w.want("kinds", strings.Join(kinds, " "),
		"created claimed reclaimed claimed given_back claimed retried claimed retried claimed ran refuted claimed ran done")
	w.want("number of the newest", w.row(id).No, len(kinds))
	w.reconcile(id)

	// A changed receipt is found: the digest covers every field.
	events := w.h.Events(w, id)
	for name, change := range map[string]func(r *lease.Receipt){
		"previous": func(r *lease.Receipt) { r.Previous = "x" },
		"number":   func(r *lease.Receipt) { r.No++ },
		"item":     func(r *lease.Receipt) { r.Item++ },
		"time":     func(r *lease.Receipt) { r.At = r.At.Add(1e6) },
		"kind":     func(r *lease.Receipt) { r.Kind = "done" },
		"owner":    func(r *lease.Receipt) { r.Owner += "x" },
		"fence":    func(r *lease.Receipt) { r.Fence++ },
		"detail":   func(r *lease.Receipt) { r.Detail = append(r.Detail[:len(r.Detail):len(r.Detail)], ' ') },
	} {
		r := events[1].Receipt
		r.Previous = events[0].Digest
		w.want("digest of the true receipt", r.Digest(), events[1].Digest)
		if change(&r); r.Digest() == events[1].Digest {
			w.Errorf("a receipt with another %s has the same digest", name)
		}
	}
}
