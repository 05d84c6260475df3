package backup

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

var (
	//go:embed queries/relax.sql
	relaxSQL string
	//go:embed queries/export.sql
	exportSQL string
)

// snapshot is one state of a protected database, kept visible for as many readers as
// a dump needs until Close.
type snapshot struct {
	ID         string    // as pg_dump --snapshot takes it
	Marker     Marker    // what a dump of this snapshot covers
	TakenAt    time.Time // the protected server's clock
	Server     ServerFacts
	Extensions map[string]string // versions by name
	Size       int64             // of the database on its server's disk, in bytes

	conn  *pgx.Conn
	where endpoint
}

// openSnapshot reads the marker and then exports a snapshot, in this order: counters
// and sequences are from before the snapshot, so what commits in between is dumped
// and not claimed. Where sequences were locked the marker claims none of them, which
// costs one more backup. plan is the digest that the marker carries. A pooler is
// refused as blocked, the loop's own ledger as permanent.
func openSnapshot(ctx context.Context, service, plan string) (_ *snapshot, err error) {
	conn, where, err := connectSource(ctx, service)
	if err != nil {
		return nil, err
	}
	s := &snapshot{conn: conn, where: where}
	defer func() {
		if err != nil {
			s.Close(ctx)
		}
	}()
	before, _, err := readMarker(ctx, conn, plan)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	if err := s.export(ctx); err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	// Within the transaction the marker's snapshot text is that of what was exported.
	// The rest of this second reading must not be kept: it is younger than that.
	within, _, err := queryMarker(ctx, conn, plan, false)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	if within.ID != before.ID || within.Inc != before.Inc {
		return nil, errors.New("open snapshot: the server restarted, changed its role or lost its counters meanwhile")
	}
	s.Marker = before
	s.Marker.Snap = within.Snap
	return s, nil
}

// export begins the transaction and gives its snapshot a name.
func (s *snapshot) export(ctx context.Context) error {
	if _, err := s.conn.Exec(ctx, relaxSQL); err != nil {
		return queryError(ctx, "lift time limits", err)
	}
	if _, err := s.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}); err != nil {
		return queryError(ctx, "begin", err)
	}
	var extensions []byte
	f := &s.Server
	err := s.conn.QueryRow(ctx, exportSQL).
		Scan(&s.ID, &s.TakenAt, &f.Version, &f.SystemIdentifier, &f.Database, &f.Encoding, &f.Collation, &f.Standby, &s.Size, &extensions)
	if err != nil {
		return queryError(ctx, "export snapshot", err)
	}
	if err := json.Unmarshal(extensions, &s.Extensions); err != nil {
		return fmt.Errorf("read extensions: %w", err)
	}
	s.TakenAt = s.TakenAt.UTC()
	if f.Version < 130000 {
		err := fmt.Errorf("server is PostgreSQL %d; 13 or newer is needed", f.Version/10000)
		return lease.WithClass(lease.Permanent, err)
	}
	return nil
}

// Close ends the transaction and its connection, also where ctx has ended. A dump
// that runs on keeps what it has seen.
func (s *snapshot) Close(ctx context.Context) { hangUp(ctx, s.conn) }
