package ledger

import (
	"context"
	"strings"

	"github.com/heyaira/heyaira-loop/lease"
)

// maxStage is what is kept of a stage's name, in bytes.
const maxStage = 64

// Renew extends leases by the TTL of their scope or type, and keeps the progress for
// status.
func (db *DB) Renew(ctx context.Context, held []lease.Progress) ([]lease.Kept, error) {
	if len(held) == 0 {
		return nil, nil
	}
	var h holders
	bytes := make([]int64, 0, len(held))
	stages := make([]string, 0, len(held))
	for _, one := range held {
		h.add(one.Holder)
		bytes = append(bytes, one.Bytes)
		stage := clean(one.Stage, maxStage)
		stages = append(stages, strings.ToValidUTF8(stage[:min(len(stage), maxStage)], ""))
	}
	var kept []lease.Kept
	err := db.ask(ctx, "renew", collect(&kept, scanKept), h.items, h.fences, h.owners, bytes, stages)
	return kept, err
}
