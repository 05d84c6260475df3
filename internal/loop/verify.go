package loop

import (
	"context"
	"encoding/json"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Verify proves the results of the documents on its inputs, completes their items and
// covers their scopes. It writes no documents; o.Ended is told how each item ended.
// Everything else is as for Run.
func Verify(ctx context.Context, open func() *ledger.DB, consumers []Consumer, in []Input, o StepOptions) (Summary, error) {
	s := newStep(lease.Verify, open, consumers, nil, o)
	s.act = s.verifyOne
	return s.do(ctx, in)
}

// verifyOne lets the consumer prove, and completes the item.
func (s *step) verifyOne(watched context.Context, a *attempt) End {
	evidence, err := carry(watched, a, func() (Evidence, error) { return a.consumer.Verify(watched, a.work, a.work.Result) })
	if err != nil {
		return a.badly(watched, err)
	}
	ended, err := settle(a, func(ctx context.Context) ([]lease.Ended, error) {
		return s.db.Complete(ctx, []lease.Proof{{Holder: a.work.Holder, Evidence: json.RawMessage(evidence)}})
	})
	if err != nil {
		return a.unsettled(watched, err)
	}
	return End{Item: a.work.Item, Outcome: ended.Outcome}
}
