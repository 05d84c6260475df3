package backup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// WorkType names backups in the ledger.
const WorkType = config.BackupType

// Options are what a host's configuration says of backups.
type Options struct {
	Environment string
	Host        string // only backups for this host, or for any, are ours
	Program     string // version of this program, for manifests
	Backups     map[string]config.Backup
	Types       config.Type
	Store       func(name string) (store.Store, error)
}

// Consumer backs up the databases of one host's configuration.
type Consumer struct {
	options Options
}

// New makes the consumer. It touches neither databases nor stores.
func New(o Options) *Consumer { return &Consumer{options: o} }

// WorkType is "heyaira-backup".
func (c *Consumer) WorkType() string { return WorkType }

// Scopes are the backups that are for this host, in the order of their names.
func (c *Consumer) Scopes() []ledger.Scope {
	var scopes []ledger.Scope
	for name, b := range c.options.Backups {
		if !c.ours(b) {
			continue
		}
		scopes = append(scopes, ledger.Scope{
			WorkType:    WorkType,
			Key:         name,
			LeaseTTL:    b.Lease,
			MaxFailures: b.Attempts,
			MinInterval: b.MinInterval,
			RPO:         b.RPO,
		})
	}
	slices.SortFunc(scopes, func(a, b ledger.Scope) int { return strings.Compare(a.Key, b.Key) })
	return scopes
}

func (c *Consumer) ours(b config.Backup) bool {
	return len(b.Hosts) == 0 || slices.Contains(b.Hosts, c.options.Host)
}

// backup is the configuration of a scope; permanent where this host has none.
func (c *Consumer) backup(scope string) (config.Backup, error) {
	b, ok := c.options.Backups[scope]
	if !ok || !c.ours(b) {
		return config.Backup{}, lease.WithClass(lease.Permanent, fmt.Errorf("find backup %s: not in the configuration of host %s", scope, c.options.Host))
	}
	return b, nil
}
