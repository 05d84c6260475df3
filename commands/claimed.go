package commands

import (
	"context"
	"fmt"

	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/ledger"
)

// tellClaimed says on a terminal what was claimed, or why nothing was: a scope that
// another host holds is the lease doing its work.
func tellClaimed(ctx context.Context, env *Env, db *ledger.DB, o loop.ClaimOptions, claimed int) error {
	if claimed > 0 {
		fmt.Fprintf(env.Err, "claim: %d leased\n", claimed)
		return nil
	}
	report, err := db.Status(ctx, ledger.StatusQuery{WorkType: o.WorkType, Scope: o.Scope})
	if err != nil {
		return err
	}
	if len(report.Scopes) == 0 {
		fmt.Fprintln(env.Err, "claim: nothing to do, no tick has recorded work yet")
	}
	for _, s := range report.Scopes {
		why := activityText(s, report.Now)
		if why == "" {
			why = "no work (" + string(s.State) + ")"
		}
		fmt.Fprintf(env.Err, "claim: nothing to do for %s: %s\n", oneLine(s.Scope), oneLine(why))
	}
	return nil
}
