package leasetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// attempt is one thing that a worker without a lease may try. It answers whether the
// store let it.
type attempt struct {
	name string
	step lease.Step // the step in which a true holder could do it; "" for both
	try  func(w *world, by Handle, held lease.Holder) (bool, error)
}

func attempts() []attempt {
	evidence := json.RawMessage(`{"by":"a stale worker"}`)
	list := []attempt{
		{"start run", lease.Run, func(w *world, by Handle, held lease.Holder) (bool, error) {
			items, err := by.Start(w.Context(), lease.NewOwner("host"), lease.Run, []lease.Holder{held})
			return len(items) > 0, err
		}},
		{"start verify", lease.Verify, func(w *world, by Handle, held lease.Holder) (bool, error) {
			items, err := by.Start(w.Context(), lease.NewOwner("host"), lease.Verify, []lease.Holder{held})
			return len(items) > 0, err
		}},
		{"renew", "", func(w *world, by Handle, held lease.Holder) (bool, error) {
			kept, err := by.Renew(w.Context(), []lease.Progress{{Holder: held, Bytes: 1, Stage: "stale"}})
			return len(kept) > 0, err
		}},
		{"finish", lease.Run, func(w *world, by Handle, held lease.Holder) (bool, error) {
			result := lease.Result{Data: evidence, Marker: "stale", Ticket: w.h.Ticket(w), TakenAt: w.h.Now(w)}
			kept, err := by.Finish(w.Context(), []lease.Finished{{Holder: held, Result: result}})
			return len(kept) > 0, err
		}},
		{"complete", lease.Verify, func(w *world, by Handle, held lease.Holder) (bool, error) {
			ended, err := by.Complete(w.Context(), []lease.Proof{{Holder: held, Evidence: evidence}})
			return len(ended) > 0, err
		}},
		{"give back", "", func(w *world, by Handle, held lease.Holder) (bool, error) {
			ended, err := by.GiveBack(w.Context(), []lease.Holder{held}, nil)
			return len(ended) > 0, err
		}},
		{"intend", "", func(w *world, by Handle, held lease.Holder) (bool, error) {
			key := fmt.Sprintf("stale:%d:%s", held.Item, held.Owner)
			_, err := by.Intend(w.Context(), held, lease.Intent{Key: key, Kind: "stale", Target: json.RawMessage(`{}`)})
			if _, there := w.h.Effect(w, key); there {
				return true, nil
			}
			if errors.Is(err, lease.ErrLost) {
				return false, nil
			}
			return err == nil, err
		}},
	}
	for _, class := range []lease.Class{lease.Transient, lease.Blocked, lease.Permanent, lease.Refuted} {
		list = append(list, attempt{"fail as " + string(class), "", func(w *world, by Handle, held lease.Holder) (bool, error) {
			ended, err := by.Fail(w.Context(), []lease.Failure{{Holder: held, Class: class, Reason: "stale"}})
			return len(ended) > 0, err
		}})
	}
	return list
}

// staleness is one way to have lost a lease; it answers the holder to try with.
type staleness struct {
	name string
	lose func(w *world, held lease.Holder) lease.Holder
}

func stalenesses() []staleness {
	return []staleness{
		{"merely expired", func(w *world, held lease.Holder) lease.Holder {
			w.expire(held.Item)
			return held
		}},
		{"reclaimed", func(w *world, held lease.Holder) lease.Holder {
			w.lose(held.Item)
			return held
		}},
		{"re-acquired", func(w *world, held lease.Holder) lease.Holder {
			step := w.row(held.Item).Step
			w.lose(held.Item)
			w.start(w.b, step, w.take(w.b).Holder)
			return held
		}},
		{"given back", func(w *world, held lease.Holder) lease.Holder {
			w.giveBack(w.a, held)
			return held
		}},
		// A lossy failover may draw a fence a second time: the owner is the only guard.
		{"same fence, other owner", func(_ *world, held lease.Holder) lease.Holder {
			held.Owner = lease.NewOwner("host")
			return held
		}},
		{"same owner, other fence", func(_ *world, held lease.Holder) lease.Holder {
			held.Fence++
			return held
		}},
	}
}

// staleWorkerCannotCommit: whoever has lost its lease, in whatever way, changes
// nothing, by whatever statement, in either step.
func staleWorkerCannotCommit(w *world) {
	for _, step := range []lease.Step{lease.Run, lease.Verify} {
		for _, stale := range stalenesses() {
			for _, a := range attempts() {
				if a.step != "" && a.step != step {
					continue
				}
				// The document of a start has not been started yet.
				begun := !strings.HasPrefix(a.name, "start")
				scope := strings.Join([]string{string(step), stale.name, a.name}, " ")
				w.allow(covering, lenient(), scope)
				id := w.put(covering, scope)
				held := stale.lose(w, w.holder(step, begun))
				row, events, head := w.row(id), len(w.h.Events(w, id)), w.h.Scope(w, covering, scope)
				did, err := a.try(w, w.a, held)
				if err != nil {
					w.Fatalf("%s: %v", scope, err)
				}
				if did {
					w.Errorf("%s: a stale worker was let", scope)
				}
				w.want(scope+": row", w.row(id), row)
				w.want(scope+": events", len(w.h.Events(w, id)), events)
				w.want(scope+": scope", w.h.Scope(w, covering, scope), head)
				w.away(id)
			}
		}
	}
}

// holder takes the one item that is due to a step.
func (w *world) holder(step lease.Step, begun bool) lease.Holder {
	w.Helper()
	var held lease.Holder
	if step == lease.Run {
		held = w.take(w.a).Holder
	} else {
		item, _ := w.ran(w.a)
		held = item.Holder
	}
	if begun {
		held = w.start(w.a, step, held).Holder
	}
	return held
}

// away puts an item out of the way of the next one.
func (w *world) away(item int64) {
	w.Helper()
	if row := w.row(item); row.State == "leased" {
		w.expire(item)
		w.reclaim(w.b)
	}
	w.h.MoveRun(w, item, 100*time.Hour)
}

// staleHolderSpoilsNoOther: of many holders in one statement the lost ones are
// missing from the answer, and the others are served.
func staleHolderSpoilsNoOther(w *world) {
	for _, scope := range []string{"a", "b", "c"} {
		w.allow(covering, lenient(), scope)
		w.put(covering, scope)
	}
	var held []lease.Progress
	for _, item := range w.claim(w.a, "host", 3) {
		held = append(held, lease.Progress{Holder: w.start(w.a, lease.Run, item.Holder).Holder})
	}
	w.expire(held[1].Item)
	kept, err := w.a.Renew(w.Context(), held)
	w.must(err)
	got := map[int64]bool{}
	for _, k := range kept {
		got[k.Item] = true
	}
	w.want("renewed", got, map[int64]bool{held[0].Item: true, held[2].Item: true})

	var failures []lease.Failure
	for _, h := range held {
		failures = append(failures, lease.Failure{Holder: h.Holder, Class: lease.Transient, Reason: "x"})
	}
	ended, err := w.a.Fail(w.Context(), failures)
	w.must(err)
	w.want("failed", len(ended), 2)
}
