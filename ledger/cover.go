package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// CoverManifest takes coverage from a store's own evidence. It answers false, and
// changes nothing, where the scope is covered by the same or a later generation, has
// a live lease, or is not registered.
func (db *DB) CoverManifest(ctx context.Context, cover Cover) (bool, error) {
	evidence, err := storable(cover.Evidence)
	if err == nil {
		err = checkText("marker", cover.Marker, maxMarker)
	}
	if err != nil {
		return false, fmt.Errorf("cover %s %s: %w", cover.WorkType, cover.Scope, err)
	}
	return db.happened(ctx, "cover_manifest", cover.WorkType, cover.Scope, int64(cover.Generation), cover.Marker,
		cover.TakenAt, int64(cover.Fence), evidence, db.options.Host)
}

// Uncover says that what generation covered is gone or was refuted. It answers false,
// and changes nothing, where another generation is covered by now.
func (db *DB) Uncover(ctx context.Context, workType, scope string, generation lease.Serial, why string) (bool, error) {
	return db.happened(ctx, "uncover", workType, scope, int64(generation), clean(why, maxReason), db.options.Host)
}

// Record adds a receipt to the ledger's own chain, for what happened to no item.
func (db *DB) Record(ctx context.Context, kind string, detail json.RawMessage) error {
	if err := checkDocument("detail", detail, maxPayload); err != nil {
		return fmt.Errorf("record %s: %w", kind, err)
	}
	return db.query(ctx, "record", nil, kind, textOrNull(detail), db.options.Host)
}

// BackupProof is one proof of a stored backup. Identity is the fingerprint of the
// identity that opened it, "" where none was needed.
type BackupProof struct {
	WorkType string
	Scope    string
	Backup   string
	Level    string // size, hash, content or restore
	Identity string
}

// Prove keeps a proof of a stored backup.
func (db *DB) Prove(ctx context.Context, proof BackupProof) error {
	return db.query(ctx, "prove", nil, proof.WorkType, proof.Scope, proof.Backup, proof.Level, proof.Identity)
}

// happened sends a statement that answers a row where it changed something.
func (db *DB) happened(ctx context.Context, name string, args ...any) (bool, error) {
	did := false
	err := db.query(ctx, name, func(pgx.Rows) error { did = true; return nil }, args...)
	return did, err
}
