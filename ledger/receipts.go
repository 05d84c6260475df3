package ledger

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// receiptPage is how many receipts one statement reads: a ledger of any size is walked
// in constant memory and within the statement timeout.
const receiptPage = 2000

// ReceiptFault is a place where a chain of receipts does not hold.
type ReceiptFault struct {
	Item int64 // 0: the ledger's own chain
	No   int
	What string // gap (a receipt is missing before it), changed, or head (the tail is cut)
}

// CheckReceipts recomputes the digest of every receipt, independently of the ledger's
// SQL, and answers where a chain does not hold.
func (db *DB) CheckReceipts(ctx context.Context) ([]ReceiptFault, error) {
	var faults []ReceiptFault
	last := stored{Receipt: lease.Receipt{Item: -1}}
	for {
		var page []stored
		err := db.send(ctx, repeatable, statement{
			name:  "receipts",
			args:  []any{last.Item, last.No, receiptPage},
			fresh: func() { page = nil },
			scan:  collect(&page, scanReceipt),
		})
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			if fault := r.follows(last); fault != "" {
				faults = append(faults, ReceiptFault{r.Item, r.No, fault})
			}
			last = r
		}
		if len(page) < receiptPage {
			break
		}
	}
	err := db.ask(ctx, "receipt_heads", collect(&faults, func(rows pgx.Rows) (ReceiptFault, error) {
		fault := ReceiptFault{What: "head"}
		err := rows.Scan(&fault.Item, &fault.No)
		return fault, err
	}))
	return faults, err
}

// stored is a receipt with the digest that the ledger computed.
type stored struct {
	lease.Receipt
	digest string
}

// follows tells what is wrong with r after the receipt before it, "" if nothing.
func (r stored) follows(before stored) string {
	if before.Item != r.Item {
		before = stored{}
	}
	if r.No != before.No+1 {
		return "gap"
	}
	r.Previous = before.digest
	if r.Digest() != r.digest {
		return "changed"
	}
	return ""
}

func scanReceipt(rows pgx.Rows) (stored, error) {
	var r stored
	var owner, detail *string
	var fence *int64
	if err := rows.Scan(&r.Item, &r.No, &r.At, &r.Kind, &owner, &fence, &detail, &r.digest); err != nil {
		return stored{}, err
	}
	if owner != nil {
		r.Owner = *owner
	}
	if fence != nil {
		r.Fence = lease.Serial(*fence)
	}
	if detail != nil {
		r.Detail = json.RawMessage(*detail)
	}
	return r, nil
}
