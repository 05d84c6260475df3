package backup

import (
	"slices"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

func TestScopesAreThoseOfThisHost(t *testing.T) {
	t.Parallel()
	c := New(Options{Host: "db1", Backups: map[string]config.Backup{
		"web":   {Name: "web", RPO: time.Hour, MinInterval: time.Minute, Lease: 2 * time.Minute, Attempts: 7},
		"app":   {Name: "app", Hosts: []string{"db2", "db1"}},
		"other": {Name: "other", Hosts: []string{"db2"}},
	}})
	want := []ledger.Scope{
		{WorkType: WorkType, Key: "app"},
		{WorkType: WorkType, Key: "web", RPO: time.Hour, MinInterval: time.Minute, LeaseTTL: 2 * time.Minute, MaxFailures: 7},
	}
	if got := c.Scopes(); !slices.Equal(got, want) {
		t.Errorf("Scopes() = %+v, want %+v", got, want)
	}
	if _, err := c.backup("other"); lease.ClassOf(err) != lease.Permanent {
		t.Errorf("backup of another host = %v, want permanent", err)
	}
}

func TestPolicyTakesCapsAndLimitsFromTheConfiguration(t *testing.T) {
	t.Parallel()
	c := New(Options{
		Types:   config.Type{MaxRunning: 4, MaxRunningPerHost: 1, BlockedWait: 15 * time.Minute},
		Backups: map[string]config.Backup{"app": {Timeout: time.Hour, Stall: time.Minute}},
	})
	p := c.Policy()
	if !p.Coalesces || p.WorkType != WorkType || p.MaxRunning != 4 || p.MaxRunningPerHost != 1 || p.BlockedWait != 15*time.Minute || p.LeaseTTL != 10*time.Minute {
		t.Errorf("Policy() = %+v", p.Policy)
	}
	if timeout, stall := p.Limits("app"); timeout != time.Hour || stall != time.Minute {
		t.Errorf("Limits(app) = %s, %s, want 1h, 1m", timeout, stall)
	}
}

func TestPlanChangesWithWhatABackupIsAndNotWithItsOrder(t *testing.T) {
	t.Parallel()
	base := planDigest("store", "prefix", []string{"a", "b"}, "all")
	if got := planDigest("store", "prefix", []string{"b", "a"}, "all"); got != base {
		t.Error("the order of recipients changes the plan")
	}
	for name, got := range map[string]string{
		"store":            planDigest("other", "prefix", []string{"a", "b"}, "all"),
		"prefix":           planDigest("store", "other", []string{"a", "b"}, "all"),
		"fewer recipients": planDigest("store", "prefix", []string{"a"}, "all"),
		"other recipients": planDigest("store", "prefix", []string{"a", "c"}, "all"),
		"what is included": planDigest("store", "prefix", []string{"a", "b"}, "globals"),
	} {
		if got == base || len(got) != 64 {
			t.Errorf("%s: plan is %q, want another than %q", name, got, base)
		}
	}
}
