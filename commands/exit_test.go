package commands

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestEveryErrorHasItsStatus(t *testing.T) {
	t.Parallel()
	child := exec.Command("false").Run()
	for name, test := range map[string]struct {
		err    error
		status int
	}{
		"none":         {nil, 0},
		"any":          {errors.New("x"), 1},
		"child":        {child, 1},
		"usage":        {misuse("", "x"), 2},
		"config":       {&config.Error{}, 2},
		"unknown name": {&loop.UnknownError{}, 2},
		"unhealthy":    {told(statusUnhealthy), 3},
		"lost":         {lease.ErrLost, 4},
		"refuted":      {lease.WithClass(lease.Refuted, errors.New("x")), 5},
		"refused":      {&ledger.RefusedError{}, 6},
		"unreachable":  {&ledger.UnreachableError{}, 7},
	} {
		if got := exitStatus(t.Context(), test.err); got != test.status {
			t.Errorf("%s: status %d, want %d", name, got, test.status)
		}
		if test.err == nil {
			continue
		}
		if got := exitStatus(t.Context(), fmt.Errorf("tick: %w", test.err)); got != test.status {
			t.Errorf("%s, wrapped: status %d, want %d", name, got, test.status)
		}
	}
}

func TestAnInterruptedProcessSaysSo(t *testing.T) {
	t.Parallel()
	for number, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(interrupted{number})
		if !lease.Interrupted(ctx) {
			t.Errorf("%s: lease does not take it for an interruption", number)
		}
		for _, err := range []error{nil, context.Cause(ctx), told(1), lease.ErrLost} {
			if got := exitStatus(ctx, err); got != want {
				t.Errorf("%s, %v: status %d, want %d", number, err, got, want)
			}
		}
	}
}

func TestHintsAreFoundInEveryError(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		misuse("do this", "x"),
		&config.Error{Advice: "do this"},
		&ledger.RefusedError{Hint: "do this"},
		&ledger.UnreachableError{Hint: "do this"},
		&endError{"run", loop.End{Err: misuse("do this", "x")}},
	} {
		if got := hintOf(fmt.Errorf("tick: %w", err)); got != "do this" {
			t.Errorf("%T: hint %q", err, got)
		}
	}
	if got := hintOf(errors.New("x")); got != "" {
		t.Errorf("hint %q of an error without one", got)
	}
}
