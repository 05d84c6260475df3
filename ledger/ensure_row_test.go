package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// wait is how long the queued item has to wait from now on, in whole minutes.
func wait(t testing.TB, l *lab) int {
	t.Helper()
	return ask[int](t, l, "SELECT round(extract(epoch FROM run_at - clock_timestamp()) / 60)::integer FROM heyaira_loop.work_item WHERE state = 'queued'")
}

func TestItemWaitsForWhatHoldsItBack(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, l *lab, db *ledger.DB)
		change  func(o *ledger.Observation)
		want    int // minutes
	}{
		{"Nothing", nil, nil, 0},
		{"NotBefore", nil, func(o *ledger.Observation) { o.NotBefore = time.Now().Add(90 * time.Minute) }, 90},
		{"NotBeforeThatIsPast", nil, func(o *ledger.Observation) { o.NotBefore = time.Now().Add(-time.Hour) }, 0},
		{"MinInterval", coveredAgo, nil, 50},
		{"MinIntervalIsNotCountedFromALostCover", func(t *testing.T, l *lab, db *ledger.DB) {
			coveredAgo(t, l, db)
			if did, err := db.Uncover(t.Context(), backups, "app", lease.NewSerial(1, 1), "gone"); err != nil || !did {
				t.Fatalf("uncover: %v, %v", did, err)
			}
		}, nil, 0},
		{"ForcedIgnoresMinInterval", coveredAgo, func(o *ledger.Observation) { o.Forced = true }, 0},
		{"Streak", badEnds, nil, 120},
		{"ForcedDoesNotIgnoreTheStreak", badEnds, func(o *ledger.Observation) { o.Forced = true }, 120},
		{"NowIgnoresAll", func(t *testing.T, l *lab, db *ledger.DB) {
			coveredAgo(t, l, db)
			badEnds(t, l, db)
		}, func(o *ledger.Observation) { o.Now, o.NotBefore = true, time.Now().Add(time.Hour) }, 0},
	}
	l, db := backupLab(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l.anew(t)
			if test.prepare != nil {
				test.prepare(t, l, db)
			}
			o := saw("new")
			if test.change != nil {
				test.change(&o)
			}
			want(t, ledger.Created, observe(t, db, o))
			if got := wait(t, l); got != test.want {
				t.Errorf("waits %d minutes, want %d", got, test.want)
			}
		})
	}
}

// coveredAgo covers the scope ten minutes ago, with an hour to pass between covers.
func coveredAgo(t *testing.T, l *lab, db *ledger.DB) {
	t.Helper()
	l.sql(t, "UPDATE heyaira_loop.scope SET min_interval = '1 hour'")
	cover(t, db, "a")
	l.sql(t, "UPDATE heyaira_loop.coverage SET covered_at = covered_at - interval '10 minutes'")
}

func badEnds(t *testing.T, l *lab, _ *ledger.DB) {
	t.Helper()
	l.sql(t, "UPDATE heyaira_loop.scope SET streak = 2")
}

func TestAdvanceKeepsTheWaitAndNowCutsItShort(t *testing.T) {
	t.Parallel()
	l, db := backupLab(t)
	item := want(t, ledger.Created, observe(t, db, saw("a")))
	l.sql(t, "UPDATE heyaira_loop.work_item SET run_at = now() + interval '1 hour'")

	// The item goes on under its generation: an attempt may have published under it.
	if got := want(t, ledger.Advanced, observe(t, db, saw("b"))); got != item || wait(t, l) != 60 {
		t.Errorf("advanced item %d, which waits %d minutes", got, wait(t, l))
	}
	key := ask[string](t, l, "SELECT dedupe_key || ' ' || generation FROM heyaira_loop.work_item")
	if wanted := "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d@1:1 1099511627777"; key != wanted {
		t.Errorf("key and generation are %s", key)
	}
	forced := saw("b")
	forced.Forced = true
	want(t, ledger.Duplicate, observe(t, db, forced))
	if wait(t, l) != 60 {
		t.Error("a forced look cut a wait short")
	}
	want(t, ledger.Advanced, observe(t, db, now(saw("b"))))
	if wait(t, l) != 0 {
		t.Error("a person still waits")
	}
	want(t, ledger.Duplicate, observe(t, db, now(saw("b"))))

	// What waits for its verify is hurried, and keeps what it captured.
	ticket, at, _ := db.Ticket(t.Context())
	leased := finish(t, db, start(t, db, claimOne(t, db, backups, "app")), lease.Result{Marker: "b", Ticket: ticket, TakenAt: at})
	fail(t, db, leased, lease.Blocked, "no disk")
	want(t, ledger.Running, observe(t, db, saw("c")))
	want(t, ledger.Advanced, observe(t, db, now(saw("c"))))
	if got := ask[string](t, l, "SELECT observed_marker || ' ' || phase FROM heyaira_loop.work_item"); got != "b verify" || wait(t, l) != 0 {
		t.Errorf("item is %s and waits %d minutes", got, wait(t, l))
	}
	sound(t, db)
}

func TestScopeRemembersWhatWasSeen(t *testing.T) {
	t.Parallel()
	_, db := backupLab(t)
	seen := func() ledger.Head { t.Helper(); return head(t, db, backups, "app") }

	if h := seen(); !h.Known || h.Uncovered || h.EverCovered || h.Active || h.ObservedMarker != "" {
		t.Errorf("new: %+v", h)
	}
	o := saw("a")
	o.Memo = json.RawMessage(`{"unsure":"since"}`)
	observe(t, db, o)
	first := seen()
	if !first.Uncovered || first.UncoveredSince.IsZero() || !first.Active || first.ObservedMarker != "a" || string(first.Memo) != `{"unsure":"since"}` {
		t.Errorf("seen: %+v", first)
	}
	observe(t, db, saw("b")) // without a memo: the old one stays
	if h := seen(); !h.UncoveredSince.Equal(first.UncoveredSince) || h.ObservedMarker != "b" || h.Memo == nil {
		t.Errorf("seen again: %+v", h)
	}
	work(t, db, "b")
	if h := seen(); h.Uncovered || !h.EverCovered || h.CoveredMarker != "b" || h.CoveredAt.IsZero() || h.TakenAt.IsZero() || h.Active || h.Generation != lease.NewSerial(1, 2) {
		t.Errorf("covered: %+v", h)
	}
	o = saw("b")
	o.Memo = json.RawMessage(`null`)
	want(t, ledger.Covered, observe(t, db, o))
	if h := seen(); h.Memo != nil || h.Uncovered {
		t.Errorf("memo cleared: %+v", h)
	}
	// Paused and covered is not uncovered; forced work for a covered marker neither.
	o.Memo, o.Forced = nil, true
	want(t, ledger.Created, observe(t, db, o))
	if h := seen(); h.Uncovered || !h.Active {
		t.Errorf("forced: %+v", h)
	}
}

func TestLateLookChangesNothingOfTheScope(t *testing.T) {
	t.Parallel()
	_, db := backupLab(t)
	late, _, err := db.Ticket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cover(t, db, "b")
	o := saw("a")
	o.Memo = json.RawMessage(`{}`)
	want(t, ledger.Stale, ensure(t, db, late, o))
	if h := head(t, db, backups, "app"); h.Uncovered || h.ObservedMarker != "b" || h.Memo != nil {
		t.Errorf("after a late look: %+v", h)
	}
}

func TestOccurrenceMovesOnWithItsItemOnly(t *testing.T) {
	t.Parallel()
	l, db := backupLab(t)
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	l.sql(t, "UPDATE heyaira_loop.scope SET next_run_at = $1", at)
	next := func() time.Time { t.Helper(); return head(t, db, backups, "app").NextRunAt }
	scheduled := func(marker string, occurrence time.Time) ledger.Observation {
		o := saw(marker)
		o.Occurrence, o.Following = occurrence, occurrence.Add(time.Hour)
		return o
	}
	l.exec(t, "pause_scope", backups, "app", nil)
	want(t, ledger.Paused, observe(t, db, scheduled("a", at)))
	if !next().Equal(at) {
		t.Error("a pause moved the occurrence on")
	}
	l.sql(t, "UPDATE heyaira_loop.scope SET paused = false")
	want(t, ledger.Created, observe(t, db, scheduled("a", at)))
	if !next().Equal(at.Add(time.Hour)) {
		t.Errorf("next occurrence is %s", next())
	}
	want(t, ledger.Raced, observe(t, db, scheduled("a", at)))
	claimOne(t, db, backups, "app")
	want(t, ledger.Running, observe(t, db, scheduled("b", at.Add(time.Hour))))
	if !next().Equal(at.Add(time.Hour)) {
		t.Error("an occurrence was dropped while the item before it ran")
	}
}

func TestCreationNamesTheItemBefore(t *testing.T) {
	t.Parallel()
	l, db := backupLab(t)
	first := cover(t, db, "a")
	head := l.Row(t, first).Head
	second := want(t, ledger.Created, observe(t, db, saw("b")))
	detail := func(item int64) string {
		return ask[string](t, l, "SELECT detail ->> 'previous' FROM heyaira_loop.work_event WHERE item_id = $1 AND event_no = 1", item)
	}
	if got, wanted := detail(second), fmt.Sprintf(`{"head":"%s","item":"%d"}`, head, first); got != wanted {
		t.Errorf("second names %s, want %s", got, wanted)
	}
	if none := ask[bool](t, l, "SELECT detail ->> 'previous' IS NULL FROM heyaira_loop.work_event WHERE item_id = $1 AND event_no = 1", first); !none {
		t.Error("the first names one before it")
	}
	sound(t, db)
}
