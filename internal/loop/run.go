package loop

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// maxMarker is the longest marker that the ledger holds, in bytes.
const maxMarker = 64 << 10

// Run executes the leases on its inputs and writes each document on, with its outcome,
// to out. A result is recorded in the ledger before it is written. open is called
// when the first document has arrived; Run closes what it opened.
//
// The error tells the faults of the inputs, of out and of the ledger, and the cause of
// ctx where that ended; how items ended is told by o.Ended. Summary.Status counts
// both. Where the ledger is refused or cannot be reached, the items stay leased until
// their leases end.
func Run(ctx context.Context, open func() *ledger.DB, consumers []Consumer, in []Input, out io.Writer, o StepOptions) (Summary, error) {
	s := newStep(lease.Run, open, consumers, out, o)
	s.act = s.runOne
	return s.do(ctx, in)
}

// runOne lets the consumer run, and records what it found.
func (s *step) runOne(watched context.Context, a *attempt) End {
	covers := a.consumer.Policy().Coalesces
	result, err := carry(watched, a, func() (lease.Result, error) { return a.consumer.Run(watched, a.work) })
	if err == nil {
		err = sound(result, covers)
	}
	if err != nil {
		return a.badly(watched, err)
	}
	kept, err := settle(a, func(ctx context.Context) ([]lease.Kept, error) {
		return s.db.Finish(ctx, []lease.Finished{{Holder: a.work.Holder, Result: result}})
	})
	if err != nil {
		return a.unsettled(watched, err)
	}
	item := a.work.Item
	item.Step, item.Result, item.Until = lease.Verify, result, kept.Until
	return End{Item: item, Outcome: lease.Ran}
}

// sound refuses a result that says not what it covers, or too long.
func sound(result lease.Result, covers bool) error {
	switch {
	case len(result.Marker) > maxMarker:
		return lease.WithClass(lease.Permanent, fmt.Errorf("marker of %d bytes is longer than %d", len(result.Marker), maxMarker))
	case covers && (result.Ticket == 0 || result.TakenAt.IsZero()):
		return lease.WithClass(lease.Permanent, errors.New("result does not say what it covers"))
	}
	return nil
}
