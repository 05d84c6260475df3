package ledger

import (
	"context"
	"fmt"

	"github.com/heyaira/heyaira-loop/lease"
)

// Fail ends attempts badly. Of a lost lease nothing is recorded: it is missing from
// the answer like any other.
func (db *DB) Fail(ctx context.Context, failures []lease.Failure) ([]lease.Ended, error) {
	var h holders
	var classes, reasons []string
	for _, one := range failures {
		switch one.Class {
		case lease.LostClass:
			continue
		case lease.Transient, lease.Blocked, lease.Permanent, lease.Refuted:
		default:
			return nil, fmt.Errorf("fail item %d: unknown class %q", one.Item, one.Class)
		}
		h.add(one.Holder)
		classes = append(classes, string(one.Class))
		reasons = append(reasons, clean(one.Reason, maxReason))
	}
	if len(h.items) == 0 {
		return nil, nil
	}
	var ended []lease.Ended
	err := db.ask(ctx, "fail", collect(&ended, scanEnded), h.items, h.fences, h.owners, classes, reasons)
	return ended, err
}
