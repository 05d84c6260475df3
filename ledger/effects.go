package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// lookAgain is how often Intend looks again for an intent that it waited for.
const lookAgain = 3

// Intend checks the fence and claims the right to fire one effect, in one statement
// that also leaves the receipt. lease.ErrLost when the lease is gone or the step was
// not started. The same holder may ask again: its own intent is answered as claimed.
func (db *DB) Intend(ctx context.Context, held lease.Holder, intent lease.Intent) (lease.Claim, error) {
	target, err := storable(intent.Target)
	if err != nil {
		return lease.Claim{}, lease.WithClass(lease.Permanent, fmt.Errorf("intend %s: target: %w", intent.Key, err))
	}
	for range lookAgain {
		var word string
		var claim lease.Claim
		err := db.ask(ctx, "intend", func(rows pgx.Rows) error {
			var err error
			word, claim, err = scanClaim(rows)
			return err
		}, held.Item, int64(held.Fence), held.Owner, intent.Key, intent.Kind, target)
		switch {
		case err != nil:
			return lease.Claim{}, err
		case word == "lost":
			return lease.Claim{}, fmt.Errorf("intend %s: %w", intent.Key, lease.ErrLost)
		case claim.State != lease.Held || claim.Fence != 0:
			return claim, nil
		}
		// Another holder's intent was committed while the statement waited for it, too
		// late to be read in the same statement.
	}
	return lease.Claim{}, fmt.Errorf("intend %s: another holder's intent comes and goes", intent.Key)
}

func scanClaim(rows pgx.Rows) (string, lease.Claim, error) {
	var word string
	var item, fence *int64
	var target, evidence *string
	if err := rows.Scan(&word, &item, &fence, &target, &evidence); err != nil {
		return "", lease.Claim{}, err
	}
	claim := lease.Claim{State: lease.EffectState(word)}
	if claim.State == lease.Claimed || item == nil || fence == nil || target == nil {
		return word, claim, nil
	}
	claim.Item, claim.Fence, claim.Target = *item, lease.Serial(*fence), json.RawMessage(*target)
	if evidence != nil {
		claim.Evidence = json.RawMessage(*evidence)
	}
	return word, claim, nil
}

// Commit keeps the evidence of an effect that fired, under the fence that claimed it,
// lease or no lease. lease.ErrLost where the key is not, or no longer, that fence's.
func (db *DB) Commit(ctx context.Context, key string, fence lease.Serial, evidence json.RawMessage) error {
	proof, err := storable(evidence)
	if err != nil {
		return fmt.Errorf("commit effect %s: evidence: %w", key, err)
	}
	kept, err := db.found(ctx, "commit_effect", key, int64(fence), proof)
	if err == nil && !kept {
		err = fmt.Errorf("commit effect %s under fence %s: %w", key, fence, lease.ErrLost)
	}
	return err
}

// Abandon gives up an intent that did not fire. lease.ErrLost where it is
// settled otherwise, or is not that fence's.
func (db *DB) Abandon(ctx context.Context, key string, fence lease.Serial) error {
	freed, err := db.found(ctx, "abandon_effect", key, int64(fence))
	if err == nil && !freed {
		err = fmt.Errorf("abandon effect %s under fence %s: %w", key, fence, lease.ErrLost)
	}
	return err
}

// Settle records what the outside world said of a dead intent. Evidence goes with
// lease.Committed only.
func (db *DB) Settle(ctx context.Context, key string, fence lease.Serial, verdict lease.EffectState, evidence json.RawMessage) (bool, error) {
	var proof *string
	switch verdict {
	case lease.Committed:
		text, err := storable(evidence)
		if err != nil {
			return false, fmt.Errorf("settle effect %s: evidence: %w", key, err)
		}
		proof = &text
	case lease.Abandoned, lease.Unknown:
		if len(evidence) > 0 {
			return false, fmt.Errorf("settle effect %s: evidence of what is %s", key, verdict)
		}
	default:
		return false, fmt.Errorf("settle effect %s: unknown verdict %q", key, verdict)
	}
	return db.found(ctx, "settle_effect", key, int64(fence), string(verdict), proof)
}

// found sends a statement and tells whether it answered a row.
func (db *DB) found(ctx context.Context, name string, args ...any) (bool, error) {
	found := false
	err := db.ask(ctx, name, func(pgx.Rows) error {
		found = true
		return nil
	}, args...)
	return found, err
}

// DeadEffect is an intent that nobody can commit any more: its item was taken back,
// has ended, or is held under another fence.
type DeadEffect struct {
	Key      string
	Kind     string
	Item     int64
	WorkType string
	Scope    string
	Fence    lease.Serial
	Target   json.RawMessage // where to look
	Tries    int             // how often it was claimed
}

// DeadEffects lists dead intents of the kinds that somebody can be asked about, oldest
// first, also those whose last answer was unknown.
func (db *DB) DeadEffects(ctx context.Context, kinds []string, limit int) ([]DeadEffect, error) {
	if len(kinds) == 0 {
		return nil, errors.New("list dead effects: no kinds")
	}
	var dead []DeadEffect
	err := db.ask(ctx, "dead_effects", collect(&dead, func(rows pgx.Rows) (DeadEffect, error) {
		var one DeadEffect
		var fence int64
		var target string
		err := rows.Scan(&one.Key, &one.Kind, &one.Item, &one.WorkType, &one.Scope, &fence, &target, &one.Tries)
		one.Fence, one.Target = lease.Serial(fence), json.RawMessage(target)
		return one, err
	}), kinds, limit)
	return dead, err
}
