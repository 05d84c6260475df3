package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/internal/store"
)

// State says how far a stored backup may be relied on.
type State string

// The states of a backup in a store. Incomplete: data without a manifest, an attempt
// under way or garbage. Closed: an attempt that can never publish. Unreadable: its
// manifest or its proof was changed or damaged.
const (
	Verified   State = "verified"
	Unverified State = "unverified"
	Refuted    State = "refuted"
	Incomplete State = "incomplete"
	Closed     State = "closed"
	Unreadable State = "unreadable"
)

// Listed is one backup of a store, as its own records show it. What a manifest would
// tell is zero where there is none.
type Listed struct {
	Scope      string    `json:"scope"`
	Backup     string    `json:"backup"`
	State      State     `json:"state"`
	Level      string    `json:"level,omitempty"` // of the first proof
	TakenAt    time.Time `json:"taken_at,omitzero"`
	VerifiedAt time.Time `json:"verified_at,omitzero"`
	Size       int64     `json:"size"` // in the store, bytes
	Database   string    `json:"database,omitempty"`
	Server     int       `json:"server_version,omitempty"` // server_version_num
	Pinned     bool      `json:"pinned"`
	Reason     string    `json:"reason,omitempty"` // why it is refuted, closed or unreadable
}

// List tells what a store holds of a scope, the newest generation first. scope may be
// "" where the store holds one only. It reads records and no data.
func List(ctx context.Context, st store.Store, scope string) ([]Listed, error) {
	scope, err := onlyScope(ctx, st, scope)
	if err != nil {
		return nil, err
	}
	entries, err := scan(ctx, st, scope)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		// A folder that is no store may be where one ought to be mounted.
		if _, err := storeID(ctx, st); errors.Is(err, store.ErrNotFound) {
			return nil, unreachable(fmt.Sprintf("list backups of %s: %s holds none, and no %s", scope, st, storeKey),
				"is the store mounted, and is the path right?", err)
		}
	}
	list := make([]Listed, 0, len(entries))
	for _, e := range entries {
		one, err := look(ctx, st, scope, e)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func look(ctx context.Context, st store.Store, scope string, e entry) (Listed, error) {
	one := Listed{Scope: scope, Backup: e.ID.String(), State: Incomplete, Pinned: e.Pinned}
	manifest, end, err := readManifest(ctx, st, scope, e.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case errors.Is(err, errUnreadable):
		one.State, one.Reason = Unreadable, err.Error()
	case err != nil:
		return one, err
	case end != nil:
		one.State, one.Reason = Closed, "closed by "+end.By
	default:
		one.State, one.TakenAt, one.Size = Unverified, manifest.TakenAt.Time, manifest.size()
		one.Database, one.Server = manifest.Server.Database, manifest.Server.Version
	}
	if one.State == Unverified && e.Verified && !e.Refuted {
		_, seen, err := proven(ctx, st, scope, e)
		switch {
		case errors.Is(err, errUnreadable):
			one.State, one.Reason = Unreadable, err.Error()
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return one, err
		case seen != nil:
			one.State, one.Level, one.VerifiedAt = Verified, seen.Level, seen.At.Time
		}
	}
	if e.Refuted {
		one.State = Refuted
		var against proof
		if readRecord(ctx, st, e.ID.key(scope, refutedName), &against) == nil {
			one.Reason = against.Reason // that it stands there is what counts
		}
	}
	return one, nil
}
