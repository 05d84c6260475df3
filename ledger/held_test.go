package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// statements are all that ask for a holder. Each answers whether the item was in the
// answer.
func statements(t *testing.T, db *ledger.DB, result lease.Result) map[string]func(h lease.Holder) bool {
	return map[string]func(h lease.Holder) bool{
		"start run": func(h lease.Holder) bool {
			items, err := db.Start(t.Context(), lease.NewOwner("h2"), lease.Run, []lease.Holder{h})
			return answered(t, len(items), err)
		},
		"start verify": func(h lease.Holder) bool {
			items, err := db.Start(t.Context(), lease.NewOwner("h2"), lease.Verify, []lease.Holder{h})
			return answered(t, len(items), err)
		},
		"renew": func(h lease.Holder) bool {
			kept, err := db.Renew(t.Context(), []lease.Progress{{Holder: h, Bytes: 7, Stage: "late"}})
			return answered(t, len(kept), err)
		},
		"finish": func(h lease.Holder) bool {
			kept, err := db.Finish(t.Context(), []lease.Finished{{Holder: h, Result: result}})
			return answered(t, len(kept), err)
		},
		"complete": func(h lease.Holder) bool {
			ended, err := db.Complete(t.Context(), []lease.Proof{{Holder: h, Evidence: json.RawMessage(`{}`)}})
			return answered(t, len(ended), err)
		},
		"fail transient": func(h lease.Holder) bool {
			ended, err := db.Fail(t.Context(), []lease.Failure{{Holder: h, Class: lease.Transient, Reason: "late"}})
			return answered(t, len(ended), err)
		},
		"fail refuted": func(h lease.Holder) bool {
			ended, err := db.Fail(t.Context(), []lease.Failure{{Holder: h, Class: lease.Refuted, Reason: "late"}})
			return answered(t, len(ended), err)
		},
		"fail lost": func(h lease.Holder) bool {
			ended, err := db.Fail(t.Context(), []lease.Failure{{Holder: h, Class: lease.LostClass, Reason: "late"}})
			return answered(t, len(ended), err)
		},
		"give back": func(h lease.Holder) bool {
			ended, err := db.GiveBack(t.Context(), []lease.Holder{h}, nil)
			return answered(t, len(ended), err)
		},
		"intend": func(h lease.Holder) bool {
			_, err := db.Intend(t.Context(), h, lease.Intent{Key: "k:" + lease.NewOwner("h"), Kind: "k"})
			if err != nil && !errors.Is(err, lease.ErrLost) {
				t.Error(err)
			}
			return err == nil
		},
	}
}

func answered(t testing.TB, n int, err error) bool {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return n > 0
}

// TestNothingChangesWhatIsNotHeld goes through every way of not holding an item, and
// every statement that asks for a holder.
func TestNothingChangesWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		spoil   func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) lease.Item
		allowed map[string]bool // in this state they are right
	}{
		"stale fence": {
			func(_ *testing.T, _ *lab, _ *ledger.DB, item lease.Item) lease.Item {
				item.Fence--
				return item
			}, nil,
		},
		"other owner": {
			func(_ *testing.T, _ *lab, _ *ledger.DB, item lease.Item) lease.Item {
				item.Owner = lease.NewOwner("h1")
				return item
			}, nil,
		},
		"other item": {
			func(_ *testing.T, _ *lab, _ *ledger.DB, item lease.Item) lease.Item {
				item.Holder.Item += 1000
				return item
			}, nil,
		},
		"expired and not reclaimed": {
			func(t *testing.T, l *lab, _ *ledger.DB, item lease.Item) lease.Item {
				l.MoveLease(t, item.Item, -time.Microsecond)
				return item
			}, nil,
		},
		"reclaimed": {
			func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) lease.Item {
				l.MoveLease(t, item.Item, -time.Second)
				reclaim(t, db)
				return item
			}, nil,
		},
		"claimed by another": {
			func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) lease.Item {
				l.MoveLease(t, item.Item, -time.Second)
				reclaim(t, db)
				l.due(t, item.Item)
				claimOne(t, db, backups, "app")
				return item
			}, nil,
		},
		"claimed, not started": {
			func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) lease.Item {
				giveBack(t, db, item)
				return claimOne(t, db, backups, "app")
			}, map[string]bool{"start run": true, "renew": true, "fail transient": true, "give back": true},
		},
		"running": {
			func(_ *testing.T, _ *lab, _ *ledger.DB, item lease.Item) lease.Item { return item },
			map[string]bool{"renew": true, "finish": true, "fail transient": true, "give back": true, "intend": true},
		},
		"ran": {
			func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) lease.Item {
				if _, err := db.Finish(t.Context(), []lease.Finished{{Holder: item.Holder, Result: l.captured(t, "m")}}); err != nil {
					t.Fatal(err)
				}
				return item
			}, map[string]bool{"start verify": true, "renew": true, "fail transient": true, "fail refuted": true, "give back": true},
		},
		"verifying": {
			func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) lease.Item {
				return finish(t, db, item, l.captured(t, "m"))
			}, map[string]bool{"renew": true, "complete": true, "fail transient": true, "fail refuted": true, "give back": true, "intend": true},
		},
		"done": {
			func(t *testing.T, l *lab, db *ledger.DB, item lease.Item) lease.Item {
				item = finish(t, db, item, l.captured(t, "m"))
				complete(t, db, item, `{}`)
				return item
			}, map[string]bool{"complete": true}, // the same answer again
		},
	}
	for way, w := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			l, db, _ := backup(t, policy{})
			for name, send := range statements(t, db, l.captured(t, "m1")) {
				item := w.spoil(t, l, db, start(t, db, claimOne(t, db, backups, "app")))
				id := item.Item % 1000
				before, events := l.Row(t, id), len(l.Events(t, id))
				held := send(item.Holder)
				if held != w.allowed[name] {
					t.Errorf("%s: in the answer: %t, want %t", name, held, w.allowed[name])
				}
				if after := l.Row(t, id); !w.allowed[name] && (fmt.Sprint(after) != fmt.Sprint(before) || len(l.Events(t, id)) != events) {
					t.Errorf("%s: changed\n%+v\nto\n%+v", name, before, after)
				}
				l.exec(t, "start_over")
			}
			sound(t, db)
		})
	}
}
