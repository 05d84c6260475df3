package loop

import (
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Work is one item in a consumer's hands.
type Work struct {
	lease.Item
	// Ledger is who the ledger is.
	Ledger ledger.Identity
}
