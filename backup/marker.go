package backup

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/heyaira/heyaira-loop/internal/canon"
	"github.com/heyaira/heyaira-loop/lease"
)

//go:embed queries/marker.sql
var markerSQL string

// markerVersion names the composition of a marker. Markers of two versions do not
// compare.
const markerVersion = "pgm1"

// Marker says which state of a database was seen. Its fields are compared as text;
// queries/marker.sql tells what each is made of.
type Marker struct {
	V      string `json:"v"`      // markerVersion
	ID     string `json:"id"`     // system identifier / database oid / timeline or standby / major version
	Inc    string `json:"inc"`    // start of the server / last crash recovery / last reset of the counters
	Snap   string `json:"snap"`   // the MVCC snapshot: xmin:xmax:xip
	Replay string `json:"replay"` // on a standby the time of the last replayed transaction, else ""
	Seq    string `json:"seq"`    // sequences: how many : unreadable ones : hash; "" where they were not read
	Cnt    string `json:"cnt"`    // rows inserted / updated / deleted in the whole database
	Glob   string `json:"glob"`   // changes of each shared catalog
	Plan   string `json:"plan"`   // planDigest
}

// ParseMarker reads the text that Text writes.
func ParseMarker(text string) (Marker, error) {
	var m Marker
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return Marker{}, fmt.Errorf("parse marker: %w", err)
	}
	if m.V == "" || m.ID == "" {
		return Marker{}, errors.New("parse marker: no version or no identity")
	}
	return m, nil
}

// Text is the marker as canonical JSON, the form that the ledger and manifests keep.
func (m Marker) Text() string {
	text, err := canon.Marshal(m)
	if err != nil {
		return "" // no UTF-8: neither a server nor ParseMarker gives such a marker
	}
	return string(text)
}

// standby tells whether the marker was read from a server in recovery. Its counters
// say nothing of what the primary wrote.
func (m Marker) standby() bool {
	parts := strings.Split(m.ID, "/")
	return len(parts) == 4 && parts[2] == "standby"
}

// trust is what weakens a marker. It takes no part in comparisons.
type trust struct {
	counting bool // rows are counted, for every role and in this database
}

// readMarker reads the marker of the database that conn leads to, in one statement
// of its own and one turn; a second turn, without the sequences, only where they are
// locked. A pooler is refused as blocked, the loop's own ledger as permanent.
func readMarker(ctx context.Context, conn *pgx.Conn, plan string) (Marker, trust, error) {
	m, t, err := queryMarker(ctx, conn, plan, true)
	if sequencesInTheWay(err) && ctx.Err() == nil {
		m, t, err = queryMarker(ctx, conn, plan, false)
	}
	return m, t, err
}

func queryMarker(ctx context.Context, conn *pgx.Conn, plan string, sequences bool) (Marker, trust, error) {
	var (
		m        = Marker{V: markerVersion, Plan: plan}
		t        trust
		backend  uint32
		isLedger bool
	)
	err := conn.QueryRow(ctx, markerSQL, sequences).
		Scan(&backend, &isLedger, &t.counting, &m.ID, &m.Inc, &m.Snap, &m.Replay, &m.Seq, &m.Cnt, &m.Glob)
	switch {
	case err != nil:
		return Marker{}, trust{}, queryError(ctx, "read marker", err)
	case isLedger:
		err := errors.New("read marker: this database holds the ledger of the loop")
		return Marker{}, trust{}, lease.WithClass(lease.Permanent, advise(err, "let the service name the database to protect; the ledger's own is never one"))
	case backend != conn.PgConn().PID():
		err := errors.New("read marker: a pooler answers in place of the server")
		return Marker{}, trust{}, lease.WithClass(lease.Blocked, advise(err, "let the service lead to the server itself"))
	}
	return m, t, nil
}

// sequencesInTheWay tells whether a read of the marker failed by what only its
// sequence part does: it waited for a lock or for too long, or had no room for locks.
func sequencesInTheWay(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "55P03" || pg.Code == "57014" || pg.Code == "53200")
}

// queryError gives the failure of a statement on a protected server its meaning.
func queryError(ctx context.Context, verb string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%s: %w", verb, cause)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return serverError(verb, pg)
	}
	return fmt.Errorf("%s: %w", verb, err)
}
