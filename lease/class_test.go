package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/heyaira/heyaira-loop/lease"
)

func TestClassOfAnError(t *testing.T) {
	t.Parallel()
	plain := errors.New("no route to host")
	blocked := lease.WithClass(lease.Blocked, plain)
	for _, v := range []struct {
		name string
		err  error
		want lease.Class
	}{
		{"unmarked", plain, lease.Transient},
		{"marked", blocked, lease.Blocked},
		{"wrapped", fmt.Errorf("open store: %w", blocked), lease.Blocked},
		{"marked twice", lease.WithClass(lease.Permanent, fmt.Errorf("read: %w", blocked)), lease.Permanent},
		{"joined", errors.Join(errors.New("other"), blocked), lease.Blocked},
		{"lost", fmt.Errorf("renew: %w", lease.ErrLost), lease.LostClass},
		{"lost under a mark", lease.WithClass(lease.Permanent, lease.ErrLost), lease.LostClass},
	} {
		if got := lease.ClassOf(v.err); got != v.want {
			t.Errorf("%s: class %s, want %s", v.name, got, v.want)
		}
	}
	if lease.WithClass(lease.Blocked, nil) != nil || lease.NotFired(nil) != nil {
		t.Error("a mark made an error of nothing")
	}
	if !errors.Is(blocked, plain) || blocked.Error() != plain.Error() {
		t.Errorf("a mark hides its error: %v", blocked)
	}
}

func TestOnlyAToldStopIsAnInterruption(t *testing.T) {
	t.Parallel()
	told, stop := context.WithCancel(t.Context())
	if lease.Interrupted(told) {
		t.Error("interrupted before it was told to stop")
	}
	stop()
	if !lease.Interrupted(told) {
		t.Error("not interrupted when told to stop")
	}
	lost, cancel := context.WithCancelCause(t.Context())
	cancel(lease.ErrLost)
	if lease.Interrupted(lost) {
		t.Error("a lost lease was taken for an interruption")
	}
	late, done := context.WithTimeout(t.Context(), 0)
	defer done()
	if lease.Interrupted(late) {
		t.Error("a time limit was taken for an interruption")
	}
}
