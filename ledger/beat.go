package ledger

import (
	"context"
	"time"
)

// noteAge is how old a scope's last good look may grow before a beat writes it again:
// half of what makes the scope unobservable.
const noteAge = 5 * time.Minute

// Beat notes, in one statement, that host ticked, how long it took, and how each
// observer fared. It is never evidence of health. host is "" for a tick that looked at
// a part of its scopes: how they fared is noted, but it was no beat.
func (db *DB) Beat(ctx context.Context, host, program string, looks []Look, took time.Duration) error {
	workTypes, scopes, failures := make([]string, len(looks)), make([]string, len(looks)), make([]string, len(looks))
	for i, look := range looks {
		workTypes[i], scopes[i], failures[i] = look.WorkType, look.Scope, clean(look.Error, maxReason)
	}
	return db.ask(ctx, "beat", nil, host, program, workTypes, scopes, failures, noteAge, took)
}
