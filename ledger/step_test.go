package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
)

func TestDocumentReadTwiceStartsWorkOnce(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	item := claimOne(t, db, backups, "app")
	first, second := lease.NewOwner("h1"), lease.NewOwner("h1")
	begin := func(owner string) []lease.Item {
		items, err := db.Start(t.Context(), owner, lease.Run, []lease.Holder{item.Holder})
		if err != nil {
			t.Fatal(err)
		}
		return items
	}
	if items := begin(first); len(items) != 1 || items[0].Owner != first || l.Row(t, id).Owner != first {
		t.Fatalf("got %+v", items)
	}
	if items := begin(second); len(items) != 0 {
		t.Errorf("started a second time: %+v", items)
	}
	// A reply that was lost: the same process asks again.
	if items := begin(first); len(items) != 1 {
		t.Error("the first was not answered again")
	}
	wantKinds(t, l, id, "created", "claimed")
}

func TestStartBelievesTheRowAndNotTheDocument(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	item := claimOne(t, db, backups, "app")
	result := l.captured(t, "m2")
	item = finish(t, db, start(t, db, item), result)
	want := lease.Item{
		Holder: item.Holder, WorkType: backups, Scope: "app", DedupeKey: l.Row(t, id).DedupeKey, Generation: lease.NewSerial(1, 1),
		Step: lease.Verify, Until: l.Row(t, id).Until, TTL: time.Minute, Claims: 1, Marker: "m1", Payload: json.RawMessage(`{}`),
		Head: l.Row(t, id).Head, Result: result, Now: item.Now,
	}
	item.Result.TakenAt = item.Result.TakenAt.UTC()
	if got, want := fmt.Sprintf("%+v", item), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRenewalKeepsProgressAndAnswersOnlyWhatIsHeld(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{Policy: leasetest.Policy{TTL: time.Hour}}, "s", "t")
	l.exec(t, "scope_set", batches, "t", 2*time.Hour, nil, nil)
	kept := l.put(t, batches, "s", "1")
	lost := l.put(t, batches, "s", "2")
	longer := l.put(t, batches, "t", "3")
	items := map[int64]lease.Item{}
	for _, item := range claim(t, db, "h1", batches, 3, "s", "t") {
		items[item.Item] = start(t, db, item)
	}
	l.MoveLease(t, kept, time.Minute)
	l.MoveLease(t, longer, time.Minute)
	l.MoveLease(t, lost, -time.Minute)
	answer, err := db.Renew(t.Context(), []lease.Progress{
		{Holder: items[longer].Holder},
		{Holder: items[lost].Holder, Bytes: 1, Stage: "dump"},
		{Holder: items[kept].Holder, Bytes: 1 << 40, Stage: "d\xffump\x00 " + strings.Repeat("é", 100)},
	})
	if err != nil {
		t.Fatal(err)
	}
	now := l.Now(t)
	ttl := map[int64]time.Duration{}
	for _, k := range answer {
		if left := k.Until.Sub(now).Round(time.Minute); left != k.TTL || !k.Until.Equal(l.Row(t, k.Item).Until) {
			t.Errorf("item %d: %s left of %s", k.Item, left, k.TTL)
		}
		ttl[k.Item] = k.TTL
	}
	if len(ttl) != 2 || ttl[kept] != time.Hour || ttl[longer] != 2*time.Hour {
		t.Errorf("kept %v", ttl)
	}
	if row := l.Row(t, kept); row.Bytes != 1<<40 || row.Stage != "d\uFFFDump "+strings.Repeat("é", 28) {
		t.Errorf("progress is %d %q", row.Bytes, row.Stage)
	}
	if row := l.Row(t, lost); row.Bytes != 0 || row.Stage != "" {
		t.Errorf("progress of a lost lease was kept: %+v", row)
	}
	// Every end clears it.
	if ended := giveBack(t, db, items[kept]); ended.Outcome != lease.GivenBack || l.Row(t, kept).Bytes != 0 || l.Row(t, kept).Stage != "" {
		t.Errorf("after %+v: %+v", ended, l.Row(t, kept))
	}
}

func TestResultIsKeptForVerifyUnderTheSameLease(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	item := start(t, db, claimOne(t, db, backups, "app"))
	if _, err := db.Renew(t.Context(), []lease.Progress{{Holder: item.Holder, Bytes: 5, Stage: "dump"}}); err != nil {
		t.Fatal(err)
	}
	l.MoveLease(t, id, time.Second)
	result := l.captured(t, "captured")
	ran := []lease.Finished{{Holder: item.Holder, Result: result}}
	kept, err := db.Finish(t.Context(), ran)
	if err != nil || len(kept) != 1 || kept[0].TTL != time.Minute {
		t.Fatalf("kept %+v, %v", kept, err)
	}
	row := l.Row(t, id)
	if row.State != "leased" || row.Step != lease.Verify || row.Started || row.Owner != item.Owner || row.Bytes != 0 || row.Stage != "" {
		t.Errorf("row is %+v", row)
	}
	if !row.Until.Equal(kept[0].Until) || row.Until.Sub(l.Now(t)) < 50*time.Second {
		t.Errorf("lease until %s, answered %s", row.Until, kept[0].Until)
	}
	row.Result.TakenAt = row.Result.TakenAt.UTC()
	if got, want := fmt.Sprintf("%+v", row.Result), fmt.Sprintf("%+v", result); got != want {
		t.Errorf("result is %s, want %s", got, want)
	}
	// A reply that was lost is answered again; another result is not taken for it.
	if again, err := db.Finish(t.Context(), ran); err != nil || len(again) != 1 {
		t.Errorf("again: %+v, %v", again, err)
	}
	ran[0].Result.Ticket = l.Ticket(t)
	if other, err := db.Finish(t.Context(), ran); err != nil || len(other) != 0 {
		t.Errorf("another result: %+v, %v", other, err)
	}
	wantKinds(t, l, id, "created", "claimed", "ran")
}

func TestDocumentsTheLedgerCannotHoldAreRefusedBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s")
	id := l.put(t, batches, "s", "1")
	item := start(t, db, claimOne(t, db, batches, "s"))
	for name, raw := range map[string]string{
		"too long":     `"` + strings.Repeat("x", 64<<10) + `"`,
		"not JSON":     `{"a":}`,
		"not UTF-8":    "\"\xff\"",
		"two of them":  `{} {}`,
		"raw NUL":      "\"\x00\"",
		"half a rune":  "\"\xe2\x80\"",
		"only a space": " ",
	} {
		_, err := db.Finish(t.Context(), []lease.Finished{{Holder: item.Holder, Result: lease.Result{Data: json.RawMessage(raw)}}})
		if err == nil || lease.ClassOf(err) != lease.Permanent || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if row := l.Row(t, id); row.Step != lease.Run {
		t.Errorf("row is %+v", row)
	}
	// As much as the ledger holds, and the least.
	most := lease.Result{Data: json.RawMessage(`"` + strings.Repeat("x", 64<<10-2) + `"`)}
	item = finish(t, db, item, most)
	if string(item.Result.Data) != string(most.Data) {
		t.Errorf("%d bytes came back", len(item.Result.Data))
	}
	if word := complete(t, db, item, ""); word != lease.Done || string(l.Row(t, id).Evidence) != "{}" {
		t.Errorf("%s with evidence %s", word, l.Row(t, id).Evidence)
	}
}

func TestWorkThatCoversHasToSayWhatItCaptured(t *testing.T) {
	t.Parallel()
	l, db, id := backup(t, policy{})
	item := start(t, db, claimOne(t, db, backups, "app"))
	if _, err := db.Finish(t.Context(), []lease.Finished{{Holder: item.Holder, Result: lease.Result{Data: json.RawMessage(`{}`)}}}); err == nil {
		t.Error("finished without a marker and a ticket")
	}
	if row := l.Row(t, id); row.Step != lease.Run || !row.Started {
		t.Errorf("row is %+v", row)
	}
}
