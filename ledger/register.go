package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Register tells the ledger what host's configuration allows: all its policies and all
// its scopes, since what it allowed before and does not name now is forgotten. digest
// stands for the whole; Survey.Policy answers it until the configuration changes, and
// for a day at most, so that the caps of hosts that are gone fall away. Caps are in
// force as the strictest that any host allows that ticked within the last week; the
// rest of a policy, and a scope's, are those registered last.
func (db *DB) Register(ctx context.Context, host string, policies []Policy, scopes []Scope, digest string) error {
	var p struct { // the columns of the statements
		names, digests                      []string
		coalesces, first, flat              []bool
		ttl, base, ceiling, blocked, revive []*time.Duration
		running, perHost, perMinute, queued []*int
		maxFailures, maxCrashes, maxClaims  []*int
	}
	p.names = make([]string, 0, len(policies)) // empty and not NULL: nothing is allowed any more
	for _, policy := range policies {
		sum, err := policy.digest()
		if err != nil {
			return fmt.Errorf("register %s: %w", policy.WorkType, err)
		}
		p.names = append(p.names, policy.WorkType)
		p.digests = append(p.digests, sum)
		p.coalesces = append(p.coalesces, policy.Coalesces)
		p.first = append(p.first, policy.First)
		p.flat = append(p.flat, policy.BackoffFlat)
		p.ttl = append(p.ttl, span(policy.LeaseTTL))
		p.base = append(p.base, span(policy.BackoffBase))
		p.ceiling = append(p.ceiling, span(policy.BackoffCap))
		p.blocked = append(p.blocked, span(policy.BlockedWait))
		p.revive = append(p.revive, span(policy.ReviveAfter))
		p.running = append(p.running, positive(policy.MaxRunning))
		p.perHost = append(p.perHost, positive(policy.MaxRunningPerHost))
		p.perMinute = append(p.perMinute, positive(policy.MaxPerMinute))
		p.queued = append(p.queued, positive(policy.MaxQueued))
		p.maxFailures = append(p.maxFailures, positive(policy.MaxFailures))
		p.maxCrashes = append(p.maxCrashes, positive(policy.MaxCrashes))
		p.maxClaims = append(p.maxClaims, positive(policy.MaxClaims))
	}
	var s struct { // the same of scopes
		workTypes, keys       []string
		ttl, minInterval, rpo []*time.Duration
		failures, running     []*int
		watched               []bool
	}
	for _, scope := range scopes {
		s.workTypes = append(s.workTypes, scope.WorkType)
		s.keys = append(s.keys, scope.Key)
		s.ttl = append(s.ttl, span(scope.LeaseTTL))
		s.minInterval = append(s.minInterval, span(scope.MinInterval))
		s.rpo = append(s.rpo, span(scope.RPO))
		s.failures = append(s.failures, positive(scope.MaxFailures))
		s.running = append(s.running, positive(scope.MaxRunning))
		s.watched = append(s.watched, !scope.Unwatched)
	}
	return db.batch(ctx,
		statement{name: "register_lock"},
		statement{name: "register_policies", args: []any{host, digest, p.names, p.digests, p.running, p.perHost, p.perMinute, p.queued}},
		statement{name: "register_types", args: []any{p.names, p.coalesces, p.ttl, p.maxFailures, p.maxCrashes, p.maxClaims,
			p.base, p.ceiling, p.flat, p.blocked, p.revive, p.first}},
		statement{name: "register_scopes", args: []any{s.workTypes, s.keys, s.ttl, s.failures, s.running, s.minInterval, s.rpo, s.watched}},
	)
}

// digest stands for the policy, so that status can tell where hosts differ.
func (p Policy) digest() (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
