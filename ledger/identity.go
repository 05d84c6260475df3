package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/migrations"
)

// whose is what a ledger says of itself before anything else is believed.
type whose struct {
	identity      Identity
	minProgram    int
	schemaVersion int

	sameSystem, sameDatabase, sameTimeline bool
	readOnly                               bool

	synchronousCommit              string
	serverEncoding, clientEncoding string

	now    time.Time
	policy *string
	beat   *time.Time
	stores map[string]string
	found  bool
}

func (w *whose) statement(o Options) statement {
	return statement{name: "whose", args: []any{o.Host}, scan: func(rows pgx.Rows) error {
		w.found = true
		var stores []byte
		err := rows.Scan(&w.identity.ID, &w.identity.Former, &w.identity.Environment, &w.identity.Epoch,
			&w.minProgram, &w.schemaVersion, &w.sameSystem, &w.sameDatabase, &w.sameTimeline, &w.readOnly,
			&w.synchronousCommit, &w.serverEncoding, &w.clientEncoding, &w.now, &w.policy, &w.beat, &stores)
		if err != nil {
			return err
		}
		return json.Unmarshal(stores, &w.stores)
	}}
}

// check answers a RefusedError where this program may not use the ledger.
func (w *whose) check(o Options) error {
	moved := make([]string, 0, 3)
	for _, part := range []struct {
		name string
		same bool
	}{{"system identifier", w.sameSystem}, {"database oid", w.sameDatabase}, {"timeline", w.sameTimeline}} {
		if !part.same {
			moved = append(moved, part.name)
		}
	}
	switch {
	case !w.found:
		return &RefusedError{Reason: "ledger has no identity", Hint: "heyaira-loop migrate"}
	case w.schemaVersion < migrations.Head():
		return &RefusedError{
			Reason: fmt.Sprintf("ledger is at schema version %d, this program needs %d", w.schemaVersion, migrations.Head()),
			Hint:   "heyaira-loop migrate",
		}
	case w.minProgram > Protocol:
		return &RefusedError{
			Reason: fmt.Sprintf("ledger needs a program that speaks protocol %d, this one speaks %d", w.minProgram, Protocol),
			Hint:   "install the newer heyaira-loop on this host",
		}
	case w.identity.Environment != o.Environment:
		return &RefusedError{
			Reason: fmt.Sprintf("ledger belongs to environment %q, this host's is %q", w.identity.Environment, o.Environment),
			Hint:   "let environment and ledger in the configuration name the same one",
		}
	case len(moved) > 0:
		return &RefusedError{
			Reason: "this ledger was restored, cloned or moved: it has another " + strings.Join(moved, ", another "),
			Hint:   "point the configuration at the true ledger; heyaira-loop status shows what stands in this one",
		}
	case w.readOnly:
		return readOnly(nil)
	case w.synchronousCommit == "off":
		return &RefusedError{
			Reason: "ledger has synchronous_commit off: after a crash it would hand a fence out twice",
			Hint:   "heyaira-loop migrate sets it on the database; look for ALTER ROLE … SET synchronous_commit",
		}
	case w.serverEncoding != "UTF8" || w.clientEncoding != "UTF8":
		return &RefusedError{
			Reason: fmt.Sprintf("ledger has encoding %s, its sessions %s", w.serverEncoding, w.clientEncoding),
			Hint:   "make the ledger's database with encoding UTF8, and set no other client_encoding",
		}
	}
	return nil
}

// Identity answers who the ledger is, in one turn; a RefusedError where this program
// may not use it.
func (db *DB) Identity(ctx context.Context) (Identity, error) {
	var w whose
	if err := db.send(ctx, repeatable, w.statement(db.options)); err != nil {
		return Identity{}, err
	}
	return w.identity, w.check(db.options)
}

// Ticket draws the order of an observation, to be drawn before the marker is read,
// and tells the ledger's clock.
func (db *DB) Ticket(ctx context.Context) (lease.Serial, time.Time, error) {
	var ticket lease.Serial
	var now time.Time
	err := db.ask(ctx, "ticket", func(rows pgx.Rows) error { return rows.Scan(&ticket, &now) })
	return ticket, now, err
}
