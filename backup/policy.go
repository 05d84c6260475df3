package backup

import (
	"time"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/ledger"
)

// Policy lets one backup of a scope be on its way, run on one database of a host at
// a time, and brings back what was quarantined once a day: a database without
// backups must not wait for a person to look.
func (c *Consumer) Policy() loop.Policy {
	return loop.Policy{
		Policy: ledger.Policy{
			WorkType:          WorkType,
			Coalesces:         true,
			LeaseTTL:          10 * time.Minute,
			MaxRunning:        c.options.Types.MaxRunning,
			MaxRunningPerHost: c.options.Types.MaxRunningPerHost,
			MaxFailures:       5,
			MaxCrashes:        3,
			MaxClaims:         50,
			BackoffBase:       time.Minute,
			BackoffCap:        time.Hour,
			BlockedWait:       c.options.Types.BlockedWait,
			ReviveAfter:       24 * time.Hour,
		},
		Limits: func(scope string) (timeout, stall time.Duration) {
			b := c.options.Backups[scope]
			return b.Timeout, b.Stall
		},
	}
}
