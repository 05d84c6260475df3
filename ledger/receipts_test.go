package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

// hostile is a text of what escapers get wrong.
func hostile(random *rand.Rand) string {
	pieces := []string{
		`"`, `\`, `/`, `\"`, `\u0041`, `'`, "`", "<script>", "&amp;", "--", "$1", "%s", "{}", "[null]",
		"\x01", "\b", "\t", "\n", "\v", "\f", "\r", "\x1b", "\x1f", "\x7f", "\u0080", "\u009f", "\u00a0",
		"\u2028", "\u2029", "\ufeff", "\ufffd", "\uffff", "e\u0301", "\u00e9", "\U0001F600", "\U0001F468\u200d\U0001F469", "\U00010000", "\U0010FFFF", "\U000E0001", " ", "x",
	}
	var text strings.Builder
	for range 1 + random.IntN(8) {
		text.WriteString(pieces[random.IntN(len(pieces))])
	}
	return text.String()
}

// hostileJSON holds such a text, written in more than one way, and numbers that no
// reader of them keeps.
func hostileJSON(random *rand.Rand) json.RawMessage {
	escaped, _ := json.Marshal(hostile(random))
	return json.RawMessage(fmt.Sprintf(`{ "z":%s ,"a":[1e400,-0,1.10, 12345678901234567890],"\u0061":"\ud83d","n":null}`, escaped))
}

// life drives items through everything that can happen to them.
type life struct {
	*testing.T
	l      *lab
	db     *ledger.DB
	random *rand.Rand
	scopes []string
	held   []lease.Item
}

func (f *life) pick() (lease.Item, bool) {
	if len(f.held) == 0 {
		return lease.Item{}, false
	}
	n := f.random.IntN(len(f.held))
	item := f.held[n]
	f.held = slices.Delete(f.held, n, n+1)
	return item, true
}

func (f *life) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *life) scope() string { return f.scopes[f.random.IntN(len(f.scopes))] }

// step does one thing that may happen at any time. What was lost meanwhile is no error.
func (f *life) step() {
	ctx := f.Context()
	switch f.random.IntN(9) {
	case 0, 1:
		ticket, _, err := f.db.Ticket(ctx)
		f.must(err)
		var seen []ledger.Observation
		for _, scope := range f.scopes {
			seen = append(seen,
				ledger.Observation{WorkType: backups, Scope: scope, Marker: hostile(f.random), Payload: hostileJSON(f.random)},
				ledger.Observation{WorkType: batches, Scope: scope, Key: hostile(f.random), Payload: hostileJSON(f.random)})
		}
		_, err = f.db.Ensure(ctx, ticket, seen)
		f.must(err)
	case 2:
		items, err := f.db.Claim(ctx, lease.Request{
			Scopes: map[string][]string{backups: f.scopes, batches: f.scopes}, Limit: 2, Owner: "h:" + hostile(f.random),
		})
		f.must(err)
		for _, item := range items {
			started, err := f.db.Start(ctx, "h:"+hostile(f.random), item.Step, []lease.Holder{item.Holder})
			f.must(err)
			f.held = append(f.held, started...)
		}
	case 3, 4, 5:
		if item, ok := f.pick(); ok {
			f.end(item)
		}
	case 6:
		if item, ok := f.pick(); ok {
			f.effect(item)
			f.held = append(f.held, item)
		}
	case 7:
		f.l.exec(f, "expire")
		_, err := f.db.Reclaim(ctx, 100)
		f.must(err)
		f.l.exec(f, "hasten")
		f.held = nil
	case 8:
		f.outside()
	}
}

func (f *life) end(item lease.Item) {
	ctx := f.Context()
	result := lease.Result{Data: hostileJSON(f.random), Marker: hostile(f.random), Ticket: f.l.Ticket(f), TakenAt: time.Now().UTC()}
	switch n := f.random.IntN(8); {
	case n == 0:
		_, err := f.db.GiveBack(ctx, []lease.Holder{item.Holder}, nil)
		f.must(err)
	case n <= 3:
		classes := []lease.Class{lease.Transient, lease.Blocked, lease.Permanent, lease.Refuted}
		_, err := f.db.Fail(ctx, []lease.Failure{{Holder: item.Holder, Class: classes[f.random.IntN(4)], Reason: hostile(f.random) + "\x00\xff"}})
		f.must(err)
	case item.Step == lease.Run:
		_, err := f.db.Finish(ctx, []lease.Finished{{Holder: item.Holder, Result: result}})
		f.must(err)
		started, err := f.db.Start(ctx, "h:"+hostile(f.random), lease.Verify, []lease.Holder{item.Holder})
		f.must(err)
		f.held = append(f.held, started...)
	default:
		_, err := f.db.Complete(ctx, []lease.Proof{{Holder: item.Holder, Evidence: hostileJSON(f.random)}})
		f.must(err)
	}
}

func (f *life) effect(item lease.Item) {
	ctx := f.Context()
	key := hostile(f.random)
	claim, err := f.db.Intend(ctx, item.Holder, lease.Intent{Key: key, Kind: hostile(f.random), Target: hostileJSON(f.random)})
	if errors.Is(err, lease.ErrLost) {
		return
	}
	f.must(err)
	if claim.State != lease.Claimed {
		return
	}
	switch f.random.IntN(3) {
	case 0:
		f.must(f.db.Commit(ctx, key, item.Fence, hostileJSON(f.random)))
	case 1:
		f.must(f.db.Abandon(ctx, key, item.Fence))
	case 2: // dies; somebody asks the outside world
		_, err := f.db.Fail(ctx, []lease.Failure{{Holder: item.Holder, Class: lease.Transient}})
		f.must(err)
		_, err = f.db.Settle(ctx, key, item.Fence, lease.Committed, hostileJSON(f.random))
		f.must(err)
	}
}

func (f *life) outside() {
	ctx := f.Context()
	scope := f.scope()
	s := f.l.Scope(f, backups, scope)
	if f.random.IntN(2) == 0 && s.Covered {
		_, err := f.db.Uncover(ctx, backups, scope, s.CoverOf, hostile(f.random))
		f.must(err)
		return
	}
	_, err := f.db.CoverManifest(ctx, ledger.Cover{
		WorkType: backups, Scope: scope, Generation: s.Generation, Marker: hostile(f.random), TakenAt: time.Now(), Fence: lease.NewSerial(1, 9), Evidence: hostileJSON(f.random),
	})
	f.must(err)
	f.must(f.db.Record(ctx, hostile(f.random), hostileJSON(f.random)))
}

// TestReceiptsOfALongLifeAreRecomputedOutside is the proof that the ledger's SQL and
// the program agree on every byte of a receipt.
func TestReceiptsOfALongLifeAreRecomputedOutside(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &life{T: t, l: l, db: l.open(t), random: rand.New(rand.NewPCG(seed, 1))}
	for range 4 {
		f.scopes = append(f.scopes, hostile(f.random)+fmt.Sprint(len(f.scopes)))
	}
	p := leasetest.Policy{MaxFailures: 4, MaxCrashes: 3, MaxClaims: 12, BackoffBase: time.Millisecond, BackoffCap: time.Millisecond, BlockedWait: time.Millisecond}
	l.allow(t, batches, policy{Policy: p}, f.scopes...)
	p.Coalesces = true
	l.allow(t, backups, policy{Policy: p}, f.scopes...)
	wanted := []string{
		"created", "advanced", "claimed", "ran", "done", "retried", "refuted", "failed", "quarantined", "reclaimed", "given_back",
		"covered", "uncovered", "effect_claimed", "effect_committed", "effect_settled",
	}
	var missing []string
	for n := range 4000 {
		f.step()
		if n < 250 || n%50 != 0 {
			continue
		}
		var happened []string
		l.row(t, "kinds", nil, &happened)
		missing = slices.DeleteFunc(slices.Clone(wanted), func(kind string) bool { return slices.Contains(happened, kind) })
		if len(missing) == 0 {
			break
		}
	}
	if len(missing) > 0 {
		t.Errorf("never happened: %v", missing)
	}
	sound(t, f.db)
}

func TestReceiptsThatWereTamperedWithAreNamed(t *testing.T) {
	t.Parallel()
	const item = 1
	changed := func(no int) []ledger.ReceiptFault {
		return []ledger.ReceiptFault{{Item: item, No: no, What: "changed"}}
	}
	tests := map[string]struct {
		sql  string
		want []ledger.ReceiptFault
	}{
		"owner":    {`UPDATE heyaira_loop.work_event SET owner = 'h1:1:00' WHERE item_id = 1 AND event_no = 2`, changed(2)},
		"no owner": {`UPDATE heyaira_loop.work_event SET owner = NULL WHERE item_id = 1 AND event_no = 2`, changed(2)},
		"time":     {`UPDATE heyaira_loop.work_event SET at = at + interval '1 us' WHERE item_id = 1 AND event_no = 3`, changed(3)},
		"kind":     {`UPDATE heyaira_loop.work_event SET kind = 'done' WHERE item_id = 1 AND event_no = 3`, changed(3)},
		"fence":    {`UPDATE heyaira_loop.work_event SET fence = fence + 1 WHERE item_id = 1 AND event_no = 3`, changed(3)},
		"detail":   {`UPDATE heyaira_loop.work_event SET detail = (detail::text || ' ')::json WHERE item_id = 1 AND event_no = 4`, changed(4)},
		"digest and all": {
			`UPDATE heyaira_loop.work_event SET owner = 'x', digest = heyaira_loop.receipt((SELECT digest FROM heyaira_loop.work_event WHERE item_id = 1 AND event_no = 1), 1, 2, at, kind, 'x', fence, detail) WHERE item_id = 1 AND event_no = 2`,
			changed(3),
		},
		"removed":  {`DELETE FROM heyaira_loop.work_event WHERE item_id = 1 AND event_no = 2`, []ledger.ReceiptFault{{Item: item, No: 3, What: "gap"}}},
		"cut tail": {`DELETE FROM heyaira_loop.work_event WHERE item_id = 1 AND event_no = 4`, []ledger.ReceiptFault{{Item: item, No: 4, What: "head"}}},
		"all gone": {`DELETE FROM heyaira_loop.work_event WHERE item_id = 1`, []ledger.ReceiptFault{{Item: item, No: 4, What: "head"}}},
		"own head": {`UPDATE heyaira_loop.work_item SET head = 'x' WHERE id = 1`, []ledger.ReceiptFault{{Item: item, No: 4, What: "head"}}},
		"own cut":  {`DELETE FROM heyaira_loop.work_event WHERE item_id = 0`, []ledger.ReceiptFault{{Item: 0, No: 1, What: "head"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, db, _ := backup(t, policy{})
			finish(t, db, start(t, db, claimOne(t, db, backups, "app")), l.captured(t, "m"))
			fail(t, db, lease.Item{Holder: lease.Holder{Item: item, Fence: l.Row(t, item).Fence, Owner: l.Row(t, item).Owner}}, lease.Transient, "x")
			if err := db.Record(t.Context(), "restored", json.RawMessage(`{}`)); err != nil {
				t.Fatal(err)
			}
			wantKinds(t, l, item, "created", "claimed", "ran", "retried")
			sound(t, db)
			l.sql(t, tt.sql)
			got, err := db.CheckReceipts(t.Context())
			if err != nil || fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}
