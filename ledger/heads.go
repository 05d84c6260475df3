package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Pair names one scope of one work type.
type Pair struct {
	WorkType string
	Scope    string
}

// Heads asks, in one turn, who the ledger is and what it knows of each of pairs. A
// RefusedError says that this program may not use it.
func (db *DB) Heads(ctx context.Context, pairs []Pair) (Survey, error) {
	workTypes, scopes := make([]string, len(pairs)), make([]string, len(pairs))
	for i, pair := range pairs {
		workTypes[i], scopes[i] = pair.WorkType, pair.Scope
	}
	var w whose
	survey := Survey{Heads: make([]Head, 0, len(pairs))}
	err := db.send(ctx, repeatable, w.statement(db.options), statement{
		name:  "heads",
		args:  []any{workTypes, scopes},
		fresh: func() { survey.Heads = survey.Heads[:0] },
		scan:  survey.scan,
	})
	if err != nil {
		return Survey{}, err
	}
	if err := w.check(db.options); err != nil {
		return Survey{}, err
	}
	survey.Ledger, survey.Now, survey.Beat, survey.Stores = w.identity, w.now, moment(w.beat), w.stores
	if w.policy != nil {
		survey.Policy = *w.policy
	}
	for i := range survey.Heads {
		head := &survey.Heads[i]
		head.Ticket, head.Now, head.Stores = survey.Ticket, survey.Now, survey.Stores
	}
	return survey, nil
}

func (s *Survey) scan(rows pgx.Rows) error {
	var h Head
	var asked bool
	var memo *string
	var next, since, covered, taken *time.Time
	err := rows.Scan(&s.Ticket, &asked, &h.WorkType, &h.Scope, &h.Known, &h.Generation, &next, &h.Paused, &h.Gate,
		&h.ObservedMarker, &h.ObserveError, &since, &h.Active, &h.EverCovered, &h.CoveredMarker, &covered, &taken, &memo)
	if err != nil || !asked {
		return err
	}
	h.NextRunAt, h.UncoveredSince, h.CoveredAt, h.TakenAt = moment(next), moment(since), moment(covered), moment(taken)
	h.Uncovered = since != nil
	h.Memo = document(memo)
	s.Heads = append(s.Heads, h)
	return nil
}
