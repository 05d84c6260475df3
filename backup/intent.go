package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
)

// publishKind is the kind of a publication's intent.
const publishKind = "backup:publish"

// publishKey is the business identity of one publication. A retry after an attempt
// that was given up claims the same key; a new change has a new generation.
func publishKey(scope string, generation lease.Serial) string {
	return publishKind + ":" + scope + ":" + generation.String()
}

// whereabouts are what an intent says of where to look for the act.
type whereabouts struct {
	Store    string       `json:"store"`
	Scope    string       `json:"scope"`
	Backup   string       `json:"backup"`
	Manifest string       `json:"manifest"`
	Ticket   lease.Serial `json:"ticket"`
}

// claim claims the right to publish this generation. Instead of a permit it answers
// what an earlier attempt has published.
func (a *attempt) claim(ctx context.Context) (*lease.Permit, *publication, error) {
	text, err := json.Marshal(whereabouts{
		Store:    a.config.Store,
		Scope:    a.item.Scope,
		Backup:   a.id.String(),
		Manifest: a.id.key(a.item.Scope, manifestName),
		Ticket:   a.ticket,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("write intent: %w", err)
	}
	intent := lease.Intent{Key: publishKey(a.item.Scope, a.item.Generation), Kind: publishKind, Target: text}
	permit, standing, err := a.guard.Claim(ctx, intent)
	if err != nil || permit != nil {
		return permit, nil, err
	}
	if standing.State != lease.Committed {
		// Another attempt's intent. Whatever it was, it is settled now.
		found, err := a.settle(ctx, intent.Key, standing)
		if err != nil || found != nil {
			return nil, found, err
		}
		if permit, standing, err = a.guard.Claim(ctx, intent); err != nil || permit != nil {
			return permit, nil, err
		}
	}
	if standing.State != lease.Committed {
		return nil, nil, lease.WithClass(lease.Blocked, &lease.UnsettledError{Key: intent.Key, Claim: standing})
	}
	found, err := a.committed(ctx, standing)
	return nil, found, err
}

// settle asks the store what became of an earlier attempt, and closes it for ever
// where it has not published. It answers what that attempt published, nil for nothing.
func (a *attempt) settle(ctx context.Context, key string, standing lease.Claim) (*publication, error) {
	var where whereabouts
	if err := json.Unmarshal(standing.Target, &where); err != nil {
		return nil, lease.WithClass(lease.Blocked, fmt.Errorf("read intent %s: %w", key, err))
	}
	id, err := ParseID(where.Backup)
	if err != nil || where.Scope != a.item.Scope {
		return nil, lease.WithClass(lease.Blocked, fmt.Errorf("read intent %s: its target is no attempt at scope %s", key, a.item.Scope))
	}
	// In a store that is not the right one the attempt would be closed in vain.
	p, err := a.enter(ctx, where.Store)
	if err != nil {
		return nil, err
	}
	manifest, err := p.close(ctx, where.Scope, id, a.closing(id))
	if err != nil {
		return nil, notThere(ctx, p.name, err)
	}
	verdict := lease.Abandoned
	var found *publication
	var evidence json.RawMessage
	if manifest != nil {
		published := publicationOf(p, manifest, id)
		verdict, found = lease.Committed, &published
		if evidence, err = published.evidence(); err != nil {
			return nil, err
		}
	}
	done, err := a.guard.Settle(ctx, key, standing, verdict, evidence)
	if err != nil {
		return nil, err
	}
	if !done {
		// Settled by another meanwhile; the next claim tells how.
		return nil, nil
	}
	return found, nil
}

// close makes sure that an attempt can never publish. Where it has published, its
// manifest is the answer: of the two records exactly one comes to stand at the key.
func (p *place) close(ctx context.Context, scope string, id ID, record closed) (*Manifest, error) {
	err := putRecord(ctx, p.store, id.key(scope, manifestName), record)
	if err == nil {
		return nil, nil
	}
	if !errors.Is(err, store.ErrExists) {
		return nil, err
	}
	manifest, _, err := readManifest(ctx, p.store, scope, id)
	return manifest, err
}

// committed answers what an earlier attempt has published and recorded. Its manifest
// is looked at by verify, which alone may refute it.
func (a *attempt) committed(ctx context.Context, standing lease.Claim) (*publication, error) {
	var found publication
	if err := json.Unmarshal(standing.Evidence, &found); err != nil || found.Backup == "" {
		return nil, lease.WithClass(lease.Blocked, fmt.Errorf("read evidence of %s: it names no backup", publishKey(a.item.Scope, a.item.Generation)))
	}
	p, err := a.enter(ctx, found.Store)
	if err != nil {
		return nil, err
	}
	if p.id != found.StoreID {
		return nil, refused(fmt.Sprintf("backup %s was published in another store than %s is now", found.Backup, p.name),
			"let the name stand for the store that it stood for")
	}
	return &found, nil
}
