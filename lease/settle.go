package lease

import (
	"context"
	"encoding/json"
	"fmt"
)

// Settle records what the outside world said of the intent that stood in the way of a
// claim of the same key: Committed with its evidence, or Abandoned, or Unknown. It
// answers false when that intent is not dead, or has been settled by another.
func (g *Guard) Settle(ctx context.Context, key string, standing Claim, verdict EffectState, evidence json.RawMessage) (bool, error) {
	done, err := g.effects.Settle(ctx, key, standing.Fence, verdict, evidence)
	if err != nil {
		return false, fmt.Errorf("settle effect %s: %w", key, err)
	}
	return done, nil
}
