package config

import (
	"time"
)

// BackupType is the work type of backups, the only one whose policy can be set.
const BackupType = "heyaira-backup"

// Config is one host's configuration with every default filled in and every path
// absolute.
type Config struct {
	Path        string // the file it came from
	Environment string
	Ledger      Source
	Beat        time.Duration // the time between two ticks, 0 where the file does not say
	Stores      map[string]Store
	Backups     map[string]Backup
	Types       map[string]Type // BackupType always stands in it
}

// Store is a place that backups are kept in.
type Store struct {
	Name string
	Type string // "dir"
	Path string
}

// Backup is one protected database.
type Backup struct {
	Name        string
	Service     string   // libpq service of the protected database
	Store       string   // a name in Config.Stores
	Recipients  []string // age recipients, each parsed once
	RPO         time.Duration
	MinInterval time.Duration // from one backup to the next, 0: none
	Lease       time.Duration
	Timeout     time.Duration
	Stall       time.Duration
	Attempts    int
	Compression int    // zstd level, 1 to 19
	PgBin       string // folder of pg_dump, "" to look for it
	Verify      string // "size" or "hash"
	Hosts       []string
}

// Type is the policy of a work type.
type Type struct {
	MaxRunning        int
	MaxRunningPerHost int
	BlockedWait       time.Duration
}

// defaultType is what design §5 gives backups.
func defaultType() Type {
	return Type{MaxRunning: 4, MaxRunningPerHost: 1, BlockedWait: 15 * time.Minute}
}

// defaultBackup is what a backup has where the file is silent; min_interval follows
// from rpo.
func defaultBackup(name string) Backup {
	return Backup{
		Name:        name,
		RPO:         24 * time.Hour,
		MinInterval: unset,
		Lease:       10 * time.Minute,
		Timeout:     12 * time.Hour,
		Stall:       10 * time.Minute,
		Attempts:    5,
		Compression: 3,
		Verify:      "hash",
	}
}

// unset marks a duration that the file has not given; none in a file is negative.
const unset time.Duration = -1

// settle fills in what follows from other values.
func (b *Backup) settle() {
	if b.MinInterval == unset {
		b.MinInterval = max(b.RPO/4, 15*time.Minute)
	}
}
