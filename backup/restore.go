package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"

	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
)

// RestoreOptions say what to restore and where to. Exactly one of To, Output and
// Archive is given.
type RestoreOptions struct {
	Store      store.Store
	Scope      string // "" where the store holds one only
	Backup     string // "" for the newest verified one
	Identities []age.Identity
	PgBin      string // folder of pg_restore; "" looks for it

	To           string // conninfo of the target database, without a password
	Create       bool   // make the target, and take it back where the restore fails
	Confirm      string // the name of the protected database, where that is the target
	NoOwner      bool   // everything belongs to the role that restores
	NoPrivileges bool   // no GRANT and no REVOKE

	Output  string    // a new file for the archive, decrypted
	Archive io.Writer // takes the archive, decrypted

	DryRun   bool                            // look at everything, also at each stored byte, and change nothing
	Progress func(stage string, bytes int64) // told how far it is; nil: nobody is
}

// RestoreReport says what a restore did.
type RestoreReport struct {
	Scope    string    `json:"scope"`
	Backup   string    `json:"backup"`
	TakenAt  time.Time `json:"taken_at"`
	Database string    `json:"database"`         // that was backed up
	Target   string    `json:"target,omitempty"` // the database that was restored into, or the file
	Stored   int64     `json:"stored"`           // bytes in the store
	Bytes    int64     `json:"bytes"`            // of the archive that was read
	Tables   int64     `json:"tables"`
	Seconds  float64   `json:"seconds"`
	DryRun   bool      `json:"dry_run"`
}

// Restore gets a backup back from its manifest alone: neither a ledger nor a
// configuration is asked. Before a byte reaches the target, the key has opened the
// backup, the target was found to be new and able to take it, and the ciphertext is
// what was written (else an error of class Refuted). What fails leaves the target as
// empty as it was.
func Restore(ctx context.Context, o RestoreOptions) (RestoreReport, error) {
	began := time.Now()
	if err := o.check(); err != nil {
		return RestoreReport{}, err
	}
	manifest, id, err := choose(ctx, o.Store, o.Scope, o.Backup)
	if err != nil {
		return RestoreReport{}, err
	}
	r := &restore{RestoreOptions: o, manifest: manifest, object: manifest.main()}
	r.key = id.key(manifest.Scope, r.object.Key)
	report := RestoreReport{
		Scope: manifest.Scope, Backup: manifest.Backup, TakenAt: manifest.TakenAt.Time,
		Database: manifest.Server.Database, Stored: manifest.size(), DryRun: o.DryRun,
	}
	if err := r.tryKey(ctx); err != nil {
		return report, err
	}
	if o.To != "" {
		err = r.intoDatabase(ctx, &report)
	} else {
		err = r.intoFile(ctx, &report)
	}
	report.Bytes, report.Seconds = r.bytes, time.Since(began).Seconds()
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return report, err
}

func (o RestoreOptions) check() error {
	given := 0
	for _, one := range []bool{o.To != "", o.Output != "", o.Archive != nil} {
		if one {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("restore: want exactly one of a target database and an output")
	case o.Create && o.To == "":
		return errors.New("restore: only a target database can be created")
	case len(o.Identities) == 0:
		return advise(errors.New("restore: no identity given"), "name the file of the age key with --identity")
	}
	return nil
}

// restore is one restore under way.
type restore struct {
	RestoreOptions
	manifest *Manifest
	object   Object
	key      string
	bytes    int64 // of the archive, read in the last pass
}

func (r *restore) report(stage string, bytes int64) {
	if r.Progress != nil {
		r.Progress(stage, bytes)
	}
}

// tryKey opens the backup without reading it.
func (r *restore) tryKey(ctx context.Context) error {
	opened, err := r.open(ctx)
	if err != nil {
		return err
	}
	return opened.Close()
}

func (r *restore) open(ctx context.Context) (*archive, error) {
	opened, err := openArchive(ctx, r.Store, r.key, r.object, r.Identities)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, r.refuted(fmt.Errorf("%s is missing", r.object.Key))
	case errors.Is(err, errDamaged):
		return nil, r.refuted(err)
	}
	return opened, err
}

// proveObject reads the whole object and compares it with the manifest.
func (r *restore) proveObject(ctx context.Context) error {
	err := checkObject(ctx, r.Store, r.key, r.object, func(n int64) { r.report("check", n) })
	if doubt := (*refutation)(nil); errors.As(err, &doubt) {
		return r.refuted(err)
	}
	return err
}

// refuted is the error of a backup that is not what its manifest says.
func (r *restore) refuted(err error) error {
	err = fmt.Errorf("check backup %s: %w", r.manifest.Backup, err)
	return lease.WithClass(lease.Refuted, advise(err, "restore an older backup: --list shows them"))
}

// stream is the archive's last way: whoever reads it may act on it.
func (r *restore) stream(ctx context.Context, opened *archive) io.Reader {
	return &progress{ctx: ctx, source: opened, report: func(n int64) {
		r.bytes = n
		r.report("restore", n)
	}}
}
