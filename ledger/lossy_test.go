package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/heyaira/heyaira-loop/internal/pgtest"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/lease/leasetest"
	"github.com/heyaira/heyaira-loop/ledger"
)

// lossy stands between a program and its server. Once it is armed the next question
// reaches the server and is executed, and its whole reply is lost with the connection.
type lossy struct {
	armed atomic.Bool
	lost  atomic.Int32
}

// readyForQuery ends every reply: the server has committed.
var readyForQuery = []byte{'Z', 0, 0, 0, 5, 'I'}

func (l *lossy) arm() { l.armed.Store(true) }

func (l *lossy) serve(listener net.Listener, server string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		back, err := net.Dial("unix", server)
		if err != nil {
			_ = client.Close()
			return
		}
		go l.carry(back, client, false)
		go l.carry(client, back, true)
	}
}

func (l *lossy) carry(to, from net.Conn, replies bool) {
	defer func() { _ = to.Close(); _ = from.Close() }()
	buffer := make([]byte, 64<<10)
	var tail []byte
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !replies || !l.armed.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
			continue
		}
		tail = append(tail, buffer[:n]...)
		if bytes.HasSuffix(tail, readyForQuery) {
			l.armed.Store(false)
			l.lost.Add(1)
			return
		}
	}
}

// openLossy is a program's way to the ledger through a lossy one.
func (l *lab) openLossy(t *testing.T) (*ledger.DB, *lossy) {
	t.Helper()
	config := l.conn.Config()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	way := &lossy{}
	go way.serve(listener, filepath.Join(config.Host, fmt.Sprintf(".s.PGSQL.%d", config.Port)))
	db := ledger.Open(ledger.Options{
		Conninfo: fmt.Sprintf("host=%s port=5432 user=%s dbname=%s", filepath.Dir(listener.Addr().String()), config.User, config.Database),
		Command:  "test", Host: "h1", Log: zerolog.Nop(),
	})
	t.Cleanup(func() {
		_ = db.Close(context.Background())
		_ = listener.Close()
	})
	return db, way
}

// TestReplyThatWasLostIsAskedForAgain loses the reply of every statement of a whole
// way, after the server has committed it: nothing happens twice, and every answer is
// the one that was lost.
func TestReplyThatWasLostIsAskedForAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.allow(t, backups, policy{Policy: leasetest.Policy{Coalesces: true, MaxRunning: 1}}, "app", "web")
	id := l.put(t, backups, "app", "m1")
	other := l.put(t, backups, "web", "m1")
	db, way := l.openLossy(t)
	losses := int32(0)
	lose := func() {
		t.Helper()
		if _, _, err := db.Ticket(t.Context()); err != nil { // connected
			t.Fatal(err)
		}
		losses++
		way.arm()
	}

	lose()
	item := claimOne(t, db, backups, "app")
	lose()
	item = start(t, db, item)
	lose()
	if kept, err := db.Renew(t.Context(), []lease.Progress{{Holder: item.Holder}}); err != nil || len(kept) != 1 {
		t.Errorf("renew: %+v, %v", kept, err)
	}
	lose()
	if claim := intend(t, db, item, publication(`{}`)); claim.State != lease.Claimed {
		t.Errorf("intend: %+v", claim)
	}
	lose()
	if err := db.Abandon(t.Context(), key, item.Fence); err != nil {
		t.Error(err)
	}
	lose()
	if ended := fail(t, db, item, lease.Transient, "x"); ended.Outcome != lease.Retried || ended.Again.IsZero() {
		t.Errorf("fail: %+v", ended)
	}
	l.due(t, id)
	item = start(t, db, claimOne(t, db, backups, "app"))
	intend(t, db, item, publication(`{}`))
	lose()
	if err := db.Commit(t.Context(), key, item.Fence, json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
	result := l.captured(t, "m1")
	lose()
	kept, err := db.Finish(t.Context(), []lease.Finished{{Holder: item.Holder, Result: result}})
	if err != nil || len(kept) != 1 {
		t.Errorf("finish: %+v, %v", kept, err)
	}
	item.Step = lease.Verify
	item = start(t, db, item)
	lose()
	if word := complete(t, db, item, `{}`); word != lease.Covered {
		t.Errorf("complete: %s", word)
	}
	// What was given back is not held: that is the answer the second time.
	item = claimOne(t, db, backups, "web")
	lose()
	if ended := giveBack(t, db, item); ended.Outcome != lease.Lost {
		t.Errorf("give back: %+v", ended)
	}
	claimOne(t, db, backups, "web")
	l.MoveLease(t, other, -time.Second)
	lose()
	if got := reclaim(t, db); len(got) != 0 {
		t.Errorf("reclaim: %+v", got)
	}

	if got := way.lost.Load(); got != losses {
		t.Errorf("%d replies were lost, want %d", got, losses)
	}
	wantKinds(t, l, id, "created", "claimed", "effect_claimed", "effect_settled", "retried", "claimed", "effect_claimed", "effect_committed", "ran", "done")
	wantKinds(t, l, other, "created", "claimed", "given_back", "claimed", "reclaimed")
	sound(t, db)
}

// TestDeadlockIsTriedAgain makes the server choose a statement as the victim.
func TestDeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	// Long enough for the rival to close the circle, shorter than lock_timeout.
	l.sql(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''2500ms''', current_database()); END $$`)
	db := l.open(t)
	l.allow(t, batches, policy{}, "s")
	first, second := l.put(t, batches, "s", "1"), l.put(t, batches, "s", "2")
	var held []lease.Progress
	for _, item := range claim(t, db, "h1", batches, 2, "s") {
		held = append(held, lease.Progress{Holder: item.Holder})
	}
	rival := pgtest.Connect(t, l.conninfo)
	tx, err := rival.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Whoever has waited for deadlock_timeout first is the victim: not the rival.
	for _, sql := range []string{`SET LOCAL deadlock_timeout = '1min'`, `SET LOCAL lock_timeout = 0`} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	touch := lever(t, "move_lease")
	if _, err := tx.Exec(t.Context(), touch, second, time.Hour); err != nil {
		t.Fatal(err)
	}
	renewed := make(chan []int64)
	go func() {
		kept, err := db.Renew(t.Context(), held)
		if err != nil {
			t.Error(err)
		}
		var items []int64
		for _, k := range kept {
			items = append(items, k.Item)
		}
		renewed <- items
	}()
	for !l.waiting(t) {
		if t.Context().Err() != nil {
			t.Fatal("the statement never waited")
		}
	}
	if _, err := tx.Exec(t.Context(), touch, first, time.Hour); err != nil {
		t.Fatal(err) // it waits for the statement, which waits for it
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-renewed
	slices.Sort(got)
	if want := []int64{first, second}; !slices.Equal(got, want) {
		t.Errorf("renewed %v, want %v", got, want)
	}
}
