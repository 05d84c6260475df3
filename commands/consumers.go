package commands

import (
	"fmt"

	"github.com/heyaira/heyaira-loop/backup"
	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/loop"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/ledger"
)

// consumers is the one list of what rides on the loop.
func consumers(env *Env) ([]loop.Consumer, error) {
	c, err := env.Config()
	if err != nil {
		return nil, err
	}
	host, err := env.Host()
	if err != nil {
		return nil, err
	}
	return []loop.Consumer{
		backup.New(backup.Options{
			Environment: c.Environment,
			Host:        host,
			Program:     programVersion(),
			Backups:     c.Backups,
			Types:       c.Types[config.BackupType],
			Store:       stores(c),
		}),
	}, nil
}

// retired tells that a scope stands in the ledger and no longer in the configuration,
// not for another host either: nobody looks at it, and nobody has to.
func retired(c *config.Config, s ledger.ScopeStatus) bool {
	_, stands := c.Backups[s.Scope]
	return s.WorkType == backup.WorkType && !stands
}

// stores opens a store by the name it has in the configuration.
func stores(c *config.Config) func(name string) (store.Store, error) {
	return func(name string) (store.Store, error) {
		s, ok := c.Stores[name]
		if !ok {
			return nil, fmt.Errorf("open store %s: not in the configuration", name)
		}
		return store.NewDir(s.Path)
	}
}
