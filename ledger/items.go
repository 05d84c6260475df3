package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// ItemStatus is one piece of work. Zero times and texts are what there is not.
type ItemStatus struct {
	Item       int64
	WorkType   string
	Scope      string
	State      string // queued, leased, done, failed, quarantined or cancelled
	Step       lease.Step
	DedupeKey  string
	Generation lease.Serial
	Fence      lease.Serial
	Owner      string
	Claims     int
	Failures   int
	Crashes    int
	RunAt      time.Time
	CreatedAt  time.Time
	StartedAt  time.Time
	LeaseUntil time.Time
	FinishedAt time.Time
	LastError  string
	LastClass  lease.Class
	Head       string // digest of the newest receipt
}

// Items answers at most limit pieces of work, newest first; "" is every work type or
// every scope.
func (db *DB) Items(ctx context.Context, workType, scope string, limit int) ([]ItemStatus, error) {
	var items []ItemStatus
	err := db.ask(ctx, "items", collect(&items, func(rows pgx.Rows) (ItemStatus, error) {
		var i ItemStatus
		var started, until, finished *time.Time
		err := rows.Scan(&i.Item, &i.WorkType, &i.Scope, &i.State, &i.Step, &i.DedupeKey, &i.Generation, &i.Fence,
			&i.Owner, &i.Claims, &i.Failures, &i.Crashes, &i.RunAt, &i.CreatedAt, &started, &until, &finished,
			&i.LastError, &i.LastClass, &i.Head)
		i.StartedAt, i.LeaseUntil, i.FinishedAt = moment(started), moment(until), moment(finished)
		return i, err
	}), workType, scope, limit)
	return items, err
}
