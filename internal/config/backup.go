package config

import (
	"slices"
	"strings"
	"time"
)

// The longest times that make sense; beyond them a unit was mistaken.
const (
	year     = 365 * 24 * time.Hour
	longTime = 10 * year
)

func (r *reader) store(name string, v value) error {
	store := Store{Name: name}
	err := v.mapping(r.storeFields(&store))
	r.config.Stores[name] = store
	return err
}

func (r *reader) storeFields(s *Store) []field {
	return []field{
		{key: "type", required: true, read: oneOf(&s.Type, "dir")},
		{key: "path", required: true, read: r.file(&s.Path)},
	}
}

func (r *reader) backup(name string, v value) error {
	backup := defaultBackup(name)
	err := v.mapping(r.backupFields(&backup))
	backup.settle()
	r.config.Backups[name] = backup
	return err
}

func (r *reader) backupFields(b *Backup) []field {
	return []field{
		{key: "service", required: true, read: r.protected(&b.Service)},
		{key: "store", required: true, read: r.storeName(&b.Store)},
		{key: "recipients", required: true, read: recipients(&b.Recipients)},
		{key: "rpo", read: duration(&b.RPO, time.Minute, longTime)},
		{key: "min_interval", read: duration(&b.MinInterval, 0, longTime)},
		{key: "lease", read: duration(&b.Lease, 10*time.Second, 24*time.Hour)},
		{key: "timeout", read: duration(&b.Timeout, time.Second, year)},
		{key: "stall", read: duration(&b.Stall, time.Second, 24*time.Hour)},
		{key: "attempts", read: integer(&b.Attempts, 1, 1000)},
		{key: "compression", read: integer(&b.Compression, 1, 19)},
		{key: "pg_bin", read: r.file(&b.PgBin)},
		{key: "verify", read: oneOf(&b.Verify, "size", "hash")},
		{key: "hosts", read: hosts(&b.Hosts)},
	}
}

func (r *reader) protected(into *string) func(value) error {
	return func(v value) error {
		r.services = append(r.services, v)
		return service(into)(v)
	}
}

func (r *reader) storeName(into *string) func(value) error {
	return func(v value) error {
		text, err := v.text()
		if err != nil {
			return err
		}
		*into = text
		r.stores = append(r.stores, v)
		return nil
	}
}

// hosts are machine names as HEYAIRA_HOST has them; a colon would break the owner's
// form host:pid:random.
func hosts(into *[]string) func(value) error {
	return func(v value) error {
		items, err := v.items()
		if err != nil {
			return err
		}
		for _, item := range items {
			host, err := item.text()
			if err != nil {
				return err
			}
			if strings.ContainsAny(host, ": /@") || len(host) > 253 {
				return item.refuse("want a host's name", "it is the machine's name, or HEYAIRA_HOST")
			}
			if slices.Contains(*into, host) {
				return item.refuse("the host stands here a second time", "")
			}
			*into = append(*into, host)
		}
		return nil
	}
}
