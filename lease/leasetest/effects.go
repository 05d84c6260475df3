package leasetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

func intent(key string) lease.Intent {
	return lease.Intent{Key: key, Kind: "test", Target: json.RawMessage(`{"where":"` + key + `"}`)}
}

// retriesDoNotDuplicate: attempt after attempt, on this item or another, an outward
// action with one business identity fires once; what is unknown is asked about first.
func retriesDoNotDuplicate(w *world) {
	fired := map[string]int{}
	act := func(key string) func(context.Context) (json.RawMessage, error) {
		return func(context.Context) (json.RawMessage, error) {
			fired[key]++
			return json.RawMessage(fmt.Sprintf(`{"receipt":"%s %d"}`, key, fired[key])), nil
		}
	}
	id := w.one()
	first := w.run(w.a)
	evidence, err := lease.NewGuard(w.a, first.Holder).Once(w.Context(), intent("invoice:1"), act("invoice:1"))
	w.must(err)
	w.wantJSON("evidence", evidence, json.RawMessage(`{"receipt":"invoice:1 1"}`))
	// This one fires, and its worker dies before it can say so.
	permit, _, err := lease.NewGuard(w.a, first.Holder).Claim(w.Context(), intent("invoice:2"))
	w.must(err)
	if permit == nil {
		w.Fatal("claimed no permit")
	}
	fired["invoice:2"]++
	w.lose(id)

	second := w.run(w.b)
	guard := lease.NewGuard(w.b, second.Holder)
	evidence, err = guard.Once(w.Context(), intent("invoice:1"), act("invoice:1"))
	w.must(err)
	w.wantJSON("evidence on retry", evidence, json.RawMessage(`{"receipt":"invoice:1 1"}`))
	_, err = guard.Once(w.Context(), intent("invoice:2"), act("invoice:2"))
	unsettled := (*lease.UnsettledError)(nil)
	if !errors.As(err, &unsettled) || lease.ClassOf(err) != lease.Blocked {
		w.Fatalf("an effect that may have fired answers %v", err)
	}
	w.want("whose it is", unsettled.Claim.Fence, first.Fence)
	w.wantJSON("where to look", unsettled.Claim.Target, intent("invoice:2").Target)
	// The outside world is asked, and has it.
	dead, err := w.b.Settle(w.Context(), "invoice:2", first.Fence, lease.Committed, json.RawMessage(`{"found":true}`))
	w.must(err)
	w.want("settled", dead, true)
	evidence, err = guard.Once(w.Context(), intent("invoice:2"), act("invoice:2"))
	w.must(err)
	w.wantJSON("evidence of the asked", evidence, json.RawMessage(`{"found":true}`))
	// Another identity is another action.
	_, err = guard.Once(w.Context(), intent("invoice:3"), act("invoice:3"))
	w.must(err)
	w.finish(w.b, second.Holder, w.capture(second))
	w.prove(w.b, second.Holder)

	// So it is for another piece of work, for the key is the business's and not the run's.
	w.one()
	third := w.run(w.a)
	_, err = lease.NewGuard(w.a, third.Holder).Once(w.Context(), intent("invoice:1"), act("invoice:1"))
	w.must(err)
	w.want("fired", fired, map[string]int{"invoice:1": 1, "invoice:2": 1, "invoice:3": 1})
}

// intendAnswersWithAWord: every state of an intent has its answer, and only one of
// them lets the caller fire.
func intendAnswersWithAWord(w *world) {
	id := w.one()
	unbegun := w.take(w.a)
	_, err := w.a.Intend(w.Context(), unbegun.Holder, intent("k"))
	if !errors.Is(err, lease.ErrLost) {
		w.Errorf("intend before start answers %v", err)
	}
	item := w.start(w.a, lease.Run, unbegun.Holder)
	word := func(by Handle, held lease.Holder, key string) lease.Claim {
		w.Helper()
		claim, err := by.Intend(w.Context(), held, intent(key))
		w.must(err)
		return claim
	}
	w.want("new", word(w.a, item.Holder, "k").State, lease.Claimed)
	w.want("its own again: the reply was lost", word(w.a, item.Holder, "k").State, lease.Claimed)
	w.must(w.a.Abandon(w.Context(), "k", item.Fence))
	w.must(w.a.Abandon(w.Context(), "k", item.Fence))
	w.want("abandoned", word(w.a, item.Holder, "k").State, lease.Claimed)
	w.want("committed later", word(w.a, item.Holder, "done").State, lease.Claimed)
	w.must(w.a.Commit(w.Context(), "done", item.Fence, json.RawMessage(`{"n":1}`)))
	claim := word(w.a, item.Holder, "done")
	w.want("committed", claim.State, lease.Committed)
	w.wantJSON("its evidence", claim.Evidence, json.RawMessage(`{"n":1}`))
	if err := w.a.Abandon(w.Context(), "done", item.Fence); !errors.Is(err, lease.ErrLost) {
		w.Errorf("abandon of a committed effect answers %v", err)
	}

	w.lose(id)
	next := w.run(w.b)
	claim = word(w.b, next.Holder, "k")
	w.want("another fence's", claim.State, lease.Held)
	w.want("whose item", claim.Item, id)
	w.want("whose fence", claim.Fence, item.Fence)
	w.wantJSON("whose target", claim.Target, intent("k").Target)
	settle := func(verdict lease.EffectState) {
		w.Helper()
		dead, err := w.b.Settle(w.Context(), "k", item.Fence, verdict, nil)
		w.must(err)
		w.want("settled", dead, true)
	}
	settle(lease.Unknown)
	w.want("nobody could say", word(w.b, next.Holder, "k").State, lease.Unknown)
	settle(lease.Unknown) // it is asked about again
	settle(lease.Abandoned)
	w.want("asked and absent", word(w.b, next.Holder, "k").State, lease.Claimed)
	effect, _ := w.h.Effect(w, "k")
	w.want("fence of the intent", effect.Fence, next.Fence)
	w.want("kind", effect.Kind, "test")
	w.want("state", effect.State, lease.EffectState("intent"))
}

// verifyDoesNotFireWhatRunLeftOpen: run and verify hold the same fence; an effect that
// run may have fired is not claimed again by verify as a reply that was lost.
func verifyDoesNotFireWhatRunLeftOpen(w *world) {
	w.one()
	item := w.run(w.a)
	_, err := w.a.Intend(w.Context(), item.Holder, intent("k"))
	w.must(err)
	w.finish(w.a, item.Holder, w.capture(item))
	verify := w.start(w.b, lease.Verify, item.Holder)
	w.want("fence", verify.Fence, item.Fence)
	claim, err := w.b.Intend(w.Context(), verify.Holder, intent("k"))
	w.must(err)
	if claim.State == lease.Claimed {
		w.Errorf("verify may fire what run left open")
	}
}

// evidenceIsKept: what happened outside is true after the lease was lost, after the
// work was interrupted, and after a reconciler gave up on it. Only a key that another
// has taken over is closed.
func evidenceIsKept(w *world) {
	id := w.one()
	item := w.run(w.a)
	guard := lease.NewGuard(w.a, item.Holder)
	work, cancel := context.WithCancelCause(w.Context())
	evidence, err := guard.Once(work, intent("posted"), func(context.Context) (json.RawMessage, error) {
		w.lose(id)
		w.run(w.b)
		cancel(lease.ErrLost)
		return json.RawMessage(`{"message":7}`), nil
	})
	w.must(err)
	w.wantJSON("evidence", evidence, json.RawMessage(`{"message":7}`))
	effect, _ := w.h.Effect(w, "posted")
	w.want("state", effect.State, lease.Committed)
	w.want("fence", effect.Fence, item.Fence)
	w.wantJSON("kept", effect.Evidence, json.RawMessage(`{"message":7}`))
	w.must(w.a.Commit(w.Context(), "posted", item.Fence, json.RawMessage(`{"message":8}`)))
	effect, _ = w.h.Effect(w, "posted")
	w.wantJSON("first evidence", effect.Evidence, json.RawMessage(`{"message":7}`))

	// Nothing fires once the work has ended.
	second := w.another()
	permit, _, err := lease.NewGuard(w.a, second.Holder).Claim(w.Context(), intent("late"))
	w.must(err)
	_, err = permit.Fire(work, func(context.Context) (json.RawMessage, error) {
		w.Errorf("fired after the lease was lost")
		return nil, nil
	})
	if !errors.Is(err, lease.ErrLost) {
		w.Errorf("fire after the lease was lost answers %v", err)
	}

	for _, verdict := range []lease.EffectState{lease.Unknown, lease.Abandoned} {
		key := "judged " + string(verdict)
		held := w.another()
		_, err := w.a.Intend(w.Context(), held.Holder, intent(key))
		w.must(err)
		w.lose(held.Item)
		dead, err := w.b.Settle(w.Context(), key, held.Fence, verdict, nil)
		w.must(err)
		w.want("settled", dead, true)
		w.must(w.a.Commit(w.Context(), key, held.Fence, json.RawMessage(`{"late":true}`)))
		effect, _ := w.h.Effect(w, key)
		w.want("state after "+key, effect.State, lease.Committed)
		w.wantJSON("evidence after "+key, effect.Evidence, json.RawMessage(`{"late":true}`))
		w.h.MoveRun(w, held.Item, 100*time.Hour)
	}

	// Given up, and claimed by another: the first one's word is refused, never lost in
	// silence.
	held := w.another()
	_, err = w.a.Intend(w.Context(), held.Holder, intent("moved on"))
	w.must(err)
	w.must(w.a.Abandon(w.Context(), "moved on", held.Fence))
	w.lose(held.Item)
	next := w.run(w.b)
	claim, err := w.b.Intend(w.Context(), next.Holder, intent("moved on"))
	w.must(err)
	w.want("claimed by the next", claim.State, lease.Claimed)
	if err := w.a.Commit(w.Context(), "moved on", held.Fence, json.RawMessage(`{}`)); !errors.Is(err, lease.ErrLost) {
		w.Errorf("commit of a key that moved on answers %v", err)
	}
	effect, _ = w.h.Effect(w, "moved on")
	w.want("state of the next's", effect.State, lease.EffectState("intent"))
}

// another starts work on a scope of its own.
func (w *world) another() lease.Item {
	w.Helper()
	scope := fmt.Sprint("scope ", len(w.items))
	w.allow(covering, lenient(), scope)
	w.put(covering, scope)
	return w.run(w.a)
}

// giveBackAbandonsUnfired: who did not fire knows it best, and nobody else has to ask.
func giveBackAbandonsUnfired(w *world) {
	id := w.one()
	item := w.run(w.a)
	guard := lease.NewGuard(w.a, item.Holder)
	claim := func(key string) *lease.Permit {
		w.Helper()
		permit, _, err := guard.Claim(w.Context(), intent(key))
		w.must(err)
		if permit == nil {
			w.Fatalf("claimed no permit for %s", key)
		}
		return permit
	}
	claim("unfired")
	doubt := claim("in doubt")
	_, err := doubt.Fire(w.Context(), func(context.Context) (json.RawMessage, error) { return nil, errors.New("no reply") })
	if err == nil {
		w.Errorf("an act that failed answers nothing")
	}
	sure := claim("surely not")
	_, err = sure.Fire(w.Context(), func(context.Context) (json.RawMessage, error) {
		return nil, lease.NotFired(errors.New("no connection"))
	})
	if err == nil {
		w.Errorf("an act that did not fire answers nothing")
	}
	done := claim("done")
	_, err = done.Fire(w.Context(), func(context.Context) (json.RawMessage, error) { return json.RawMessage(`{}`), nil })
	w.must(err)
	w.want("unfired", guard.Unfired(), []string{"unfired"})
	w.want("open", guard.Open(), []string{"in doubt"})

	other := w.another()
	_, err = w.a.Intend(w.Context(), other.Holder, intent("another's"))
	w.must(err)
	// A key that is another's, or has ended, is none of its business.
	w.giveBack(w.a, item.Holder, append(guard.Unfired(), "another's", "done")...)
	state := func(key string) lease.EffectState {
		w.Helper()
		effect, _ := w.h.Effect(w, key)
		return effect.State
	}
	w.want("unfired", state("unfired"), lease.Abandoned)
	w.want("surely not", state("surely not"), lease.Abandoned)
	w.want("in doubt", state("in doubt"), lease.EffectState("intent"))
	w.want("done", state("done"), lease.Committed)
	w.want("another's", state("another's"), lease.EffectState("intent"))

	w.due(id)
	next := w.run(w.b)
	again, err := w.b.Intend(w.Context(), next.Holder, intent("unfired"))
	w.must(err)
	w.want("claimed by the next", again.State, lease.Claimed)
}

// onlyTheDeadAreSettled: a live holder's intent, also one whose lease has expired and
// was not taken back, is nobody else's to judge.
func onlyTheDeadAreSettled(w *world) {
	id := w.one()
	item := w.run(w.a)
	_, err := w.a.Intend(w.Context(), item.Holder, intent("k"))
	w.must(err)
	settle := func(fence lease.Serial) bool {
		w.Helper()
		dead, err := w.b.Settle(w.Context(), "k", fence, lease.Abandoned, nil)
		w.must(err)
		return dead
	}
	w.want("settled of a live holder", settle(item.Fence), false)
	w.expire(id)
	w.want("settled of an expired holder", settle(item.Fence), false)
	effect, _ := w.h.Effect(w, "k")
	w.want("state", effect.State, lease.EffectState("intent"))
	w.reclaim(w.b)
	w.want("settled under another fence", settle(item.Fence+1), false)
	w.want("settled of the dead", settle(item.Fence), true)
	w.want("settled twice", settle(item.Fence), false)
}
