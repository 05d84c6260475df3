package loop

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/heyaira/heyaira-loop/internal/proc"
	"github.com/heyaira/heyaira-loop/ledger"
)

const (
	tickTimeout = 45 * time.Second // of a tick, where none is given
	// maxLookError bounds what the ledger keeps of an observer's error, in bytes.
	maxLookError = 1000
)

// errTickOver is why an observer was stopped that its own limit left more time.
var errTickOver = errors.New("the tick's time is over")

// Tick observes every scope of the consumers once and ensures the work that is due.
// An idle tick is two turns on the ledger: its question, and the beat.
//
// A scope that cannot be observed holds back no other; its error stands in the report.
// The error is an *UnknownError for a work type or scope that is not configured, one of
// the ledger's, or the cause of ctx; what the report says then is not complete.
func Tick(ctx context.Context, db *ledger.DB, consumers []Consumer, o TickOptions) (TickReport, error) {
	pairs, err := pick(consumers, o.WorkType, o.Scope)
	if err != nil {
		return TickReport{}, err
	}
	if err := splay(ctx, o.Splay, o.Host); err != nil {
		return TickReport{}, err
	}
	if o.Timeout <= 0 {
		o.Timeout = tickTimeout
	}
	t := &tick{db: db, o: o, began: time.Now()}
	limit := fmt.Errorf("tick was not over within %s: %w", o.Timeout, context.DeadlineExceeded)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, limit)
	defer cancel()
	err = t.run(ctx, pairs, roster(consumers), consumers)
	return t.report(), err
}

// tick is one tick on its way.
type tick struct {
	db     *ledger.DB
	o      TickOptions
	began  time.Time // by this host's clock
	beaten time.Time // when this host ticked last, by the ledger's
	looks  []*look
}

func (t *tick) run(ctx context.Context, pairs, all []pair, consumers []Consumer) error {
	asked := make([]ledger.Pair, len(pairs))
	for i, p := range pairs {
		asked[i] = ledger.Pair{WorkType: p.scope.WorkType, Scope: p.scope.Key}
	}
	survey, err := t.db.Heads(ctx, asked)
	if err != nil {
		return fmt.Errorf("ask ledger: %w", err)
	}
	t.beaten = survey.Beat
	for i, p := range pairs {
		head := survey.Heads[i]
		head.Force = t.o.Now
		t.looks = append(t.looks, &look{pair: p, head: head, before: survey.Heads[i]})
	}
	if err := t.register(ctx, survey, all, consumers); err != nil {
		return fmt.Errorf("register configuration: %w", err)
	}
	// The observers leave a fifth of the time to what is done with their answers.
	looking, cancel := context.WithDeadlineCause(ctx, t.began.Add(t.o.Timeout*4/5), errTickOver)
	defer cancel()
	t.recall(looking, survey.Ledger)
	if err := t.cover(ctx); err != nil {
		return fmt.Errorf("cover what the store has: %w", err)
	}
	t.observe(looking)
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx) // what the observers said of that is not their fault
	}
	if t.o.DryRun {
		return nil
	}
	if err := t.ensure(ctx); err != nil {
		return fmt.Errorf("ensure work: %w", err)
	}
	if err := t.beat(ctx); err != nil {
		return fmt.Errorf("record beat: %w", err)
	}
	return nil
}

// register tells the ledger this host's whole configuration, also where the tick looks
// at a part of it, when the ledger has another or lacks a scope.
func (t *tick) register(ctx context.Context, survey ledger.Survey, all []pair, consumers []Consumer) error {
	var policies []ledger.Policy
	for _, consumer := range consumers {
		policies = append(policies, consumer.Policy().Policy)
	}
	scopes := make([]ledger.Scope, len(all))
	for i, p := range all {
		scopes[i] = p.scope
	}
	slices.SortFunc(policies, func(a, b ledger.Policy) int { return cmp.Compare(a.WorkType, b.WorkType) })
	slices.SortFunc(scopes, func(a, b ledger.Scope) int {
		return cmp.Or(cmp.Compare(a.WorkType, b.WorkType), cmp.Compare(a.Key, b.Key))
	})
	digest, err := digestOf(policies, scopes)
	if err != nil {
		return err
	}
	unknown := slices.ContainsFunc(survey.Heads, func(h ledger.Head) bool { return !h.Known })
	if t.o.DryRun || survey.Policy == digest && !unknown {
		return nil
	}
	return t.db.Register(ctx, t.o.Host, policies, scopes, digest)
}

// digestOf changes when anything changes that the ledger has to know.
func digestOf(policies []ledger.Policy, scopes []ledger.Scope) (string, error) {
	text, err := json.Marshal([]any{policies, scopes})
	if err != nil {
		return "", fmt.Errorf("write policy: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// recall asks the stores about scopes of which the ledger has never known anything,
// before it is believed that nothing is covered.
func (t *tick) recall(ctx context.Context, who ledger.Identity) {
	forgotten := slices.DeleteFunc(slices.Clone(t.looks), func(l *look) bool { return !l.forgotten() })
	each(ctx, forgotten, func(ctx context.Context, l *look) (*ledger.Cover, error) {
		return l.pair.consumer.(Recaller).Recall(ctx, l.head.Scope, who)
	}, func(l *look, cover *ledger.Cover, err error) {
		l.cover = cover
		if err != nil {
			l.err = fmt.Errorf("recall what the store has: %w", err)
		}
	})
}

// cover records what the stores remembered. A cover's ticket is newer than the
// survey's, so the looks get one that is newer still.
func (t *tick) cover(ctx context.Context) error {
	covered := false
	for _, l := range t.looks {
		if l.cover == nil || l.err != nil {
			continue
		}
		if !t.o.DryRun {
			news, err := t.db.CoverManifest(ctx, *l.cover)
			if err != nil {
				return err
			}
			if !news {
				continue // another host was faster
			}
			covered = true
		}
		l.head.EverCovered, l.head.CoveredMarker = true, l.cover.Marker
		l.head.CoveredAt, l.head.TakenAt = l.head.Now, l.cover.TakenAt
	}
	if !covered {
		return nil
	}
	ticket, now, err := t.db.Ticket(ctx)
	if err != nil {
		return err
	}
	for _, l := range t.looks {
		l.head.Ticket, l.head.Now = ticket, now
	}
	return nil
}

// observe asks the observers, those at least that could be asked about their store.
func (t *tick) observe(ctx context.Context) {
	watched := slices.DeleteFunc(slices.Clone(t.looks), func(l *look) bool { return l.pair.scope.Unwatched || l.err != nil })
	each(ctx, watched, func(ctx context.Context, l *look) ([]ledger.Observation, error) {
		return l.pair.consumer.Observe(ctx, l.head)
	}, func(l *look, seen []ledger.Observation, err error) {
		l.err = err
		for _, one := range seen {
			if one.WorkType == "" {
				one.WorkType, one.Scope = l.head.WorkType, l.head.Scope
			}
			one.Now = t.o.Now
			if l.due(one) {
				l.observations = append(l.observations, one)
			}
		}
	})
}

// ensure makes work of everything that is not idle, in one statement.
func (t *tick) ensure(ctx context.Context) error {
	var observations []ledger.Observation
	for _, l := range t.looks {
		observations = append(observations, l.observations...)
	}
	if len(observations) == 0 {
		return nil
	}
	answers, err := t.db.Ensure(ctx, t.looks[0].head.Ticket, observations)
	if err != nil {
		return err
	}
	if len(answers) != len(observations) {
		return errors.New("the ledger did not answer for every scope")
	}
	for _, l := range t.looks {
		count := len(l.observations)
		l.answers, answers = answers[:count:count], answers[count:]
		for _, answer := range l.answers {
			l.err = errors.Join(l.err, answer.Err)
		}
	}
	return nil
}

// beat records that this host ticked, and how each look went.
func (t *tick) beat(ctx context.Context) error {
	var looks []ledger.Look
	for _, l := range t.looks {
		if l.pair.scope.Unwatched {
			continue
		}
		one := ledger.Look{WorkType: l.head.WorkType, Scope: l.head.Scope}
		if l.err != nil {
			one.Error = cut(proc.Scrub(l.err.Error()), maxLookError)
		}
		looks = append(looks, one)
	}
	host := t.o.Host
	if t.o.WorkType != "" || t.o.Scope != "" {
		host = ""
	}
	return t.db.Beat(ctx, host, t.o.Program, looks, time.Since(t.began))
}

func (t *tick) report() TickReport {
	report := TickReport{DryRun: t.o.DryRun, Took: time.Since(t.began)}
	for _, l := range t.looks {
		report.Scopes = append(report.Scopes, ScopeReport{
			WorkType: l.head.WorkType,
			Scope:    l.head.Scope,
			Err:      l.err,
			Due:      len(l.observations),
			Answers:  l.answers,
			News:     l.news(t.beaten),
		})
	}
	return report
}

// splay waits a host's part of d.
func splay(ctx context.Context, d time.Duration, host string) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(part(d, host))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// part is a part of d that is the same for a host at every tick, so that the hosts of a
// fleet do not ask all at once.
func part(d time.Duration, host string) time.Duration {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(host)) // never fails
	return d * time.Duration(hash.Sum32()%1000) / 1000
}
