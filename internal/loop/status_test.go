package loop

import (
	"fmt"
	"testing"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestWorstStatusIsTheFirstOfTheTable(t *testing.T) {
	t.Parallel()
	order := []int{StatusRefused, StatusRefuted, StatusFailed, StatusUnreachable, StatusLost, StatusDone}
	for i, worse := range order {
		for _, better := range order[i:] {
			if got := Worst(better, worse, better); got != worse {
				t.Errorf("worst of %d and %d: got %d", better, worse, got)
			}
		}
	}
	for _, unknown := range []int{2, 3, 99, -1, 143} {
		if got := Worst(StatusLost, unknown); got != StatusFailed {
			t.Errorf("unknown status %d counts as %d", unknown, got)
		}
	}
	if got := Worst(); got != StatusDone {
		t.Errorf("nothing counts as %d", got)
	}
}

func TestEveryOutcomeAndErrorHasItsStatus(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[lease.Outcome]int{
		lease.Ran: 0, lease.Done: 0, lease.Covered: 0, lease.Superseded: 0, lease.GivenBack: 0,
		lease.Retried: 1, lease.BlockedWait: 1, lease.Failed: 1, lease.Quarantined: 1,
		lease.Lost: 4, lease.RefutedNow: 5, "something new": 1,
	} {
		if got := OutcomeStatus(outcome); got != want {
			t.Errorf("%s: got %d, want %d", outcome, got, want)
		}
	}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{fmt.Errorf("a: %w", &ledger.RefusedError{Reason: "x"}), 6},
		{fmt.Errorf("a: %w", &ledger.UnreachableError{Reason: "x"}), 7},
		{fmt.Errorf("a: %w", lease.ErrLost), 4},
		{fmt.Errorf("a"), 1},
	} {
		if got := ErrorStatus(c.err); got != c.want {
			t.Errorf("%v: got %d, want %d", c.err, got, c.want)
		}
	}
}
