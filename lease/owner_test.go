package lease_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

func TestOwnerIsNewForEachInvocation(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^db1:[0-9]+:[0-9a-f]{16}$`)
	seen := map[string]bool{}
	for range 1000 {
		owner := lease.NewOwner("db1")
		if !form.MatchString(owner) || seen[owner] {
			t.Fatalf("owner %s is of another form, or was there before", owner)
		}
		seen[owner] = true
	}
	// Caps for each host are counted by what stands before the first colon.
	if owner := lease.NewOwner("fe80::1"); !regexp.MustCompile(`^fe80--1:`).MatchString(owner) {
		t.Errorf("owner %s", owner)
	}
}

func TestBootClockGoesOn(t *testing.T) {
	t.Parallel()
	first := lease.Now()
	if first <= 0 {
		t.Fatalf("the machine booted at %d", first)
	}
	began := time.Now()
	for lease.Now() == first {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the boot clock stands still")
		}
	}
	if at := first.Add(time.Second); at.Sub(first) != time.Second {
		t.Errorf("a second later is %s later", at.Sub(first))
	}
}
