package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heyaira/heyaira-loop/backup"
	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// restoring is one restore with where it reads from.
type restoring struct {
	env   *Env
	flags restoreFlags
}

// source is the store to read, and the folder of pg_restore where one is configured.
func (r *restoring) source() (store.Store, string, error) {
	if r.flags.from != "" {
		folder, err := filepath.Abs(r.flags.from)
		if err != nil {
			return nil, "", fmt.Errorf("find folder: %w", err)
		}
		st, err := store.NewDir(folder)
		return st, "", away(err)
	}
	conf, err := r.env.Config()
	if err != nil {
		return nil, "", err
	}
	b, ok := conf.Backups[r.flags.scope]
	if !ok {
		return nil, "", unknownBackup(conf, r.flags.scope)
	}
	st, err := stores(conf)(b.Store)
	return st, b.PgBin, away(err)
}

// away says of a store that could not be opened that it is unreachable; what is wrong
// with the configuration stays that.
func away(err error) error {
	if err == nil || isUsage(err) {
		return err
	}
	return &ledger.UnreachableError{Reason: err.Error(), Hint: hintOf(err), Err: err}
}

func unknownBackup(conf *config.Config, scope string) error {
	names := slices.Sorted(maps.Keys(conf.Backups))
	advice := "there is " + strings.Join(names, ", ") + "; with --from FOLDER no configuration is asked"
	if near := config.Nearest(scope, names); near != "" {
		advice = "did you mean " + near + "?"
	}
	return misuse(advice, "unknown scope %q: not in %s", scope, conf.Path)
}

func (r *restoring) list(ctx context.Context) error {
	st, _, err := r.source()
	if err != nil {
		return err
	}
	list, err := backup.List(ctx, st, r.flags.scope)
	if err != nil {
		return err
	}
	if r.env.json {
		for _, one := range list {
			if err := r.env.printJSON(one); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		return r.env.say("no backup of %s in %s", r.flags.scope, st)
	}
	rows := make([][]string, 0, len(list))
	for _, one := range list {
		rows = append(rows, []string{one.Backup, string(one.State), one.Level, stamp(one.TakenAt), size(one.Size), one.Database, one.Reason})
	}
	return r.env.printTable([]string{"BACKUP", "STATE", "PROOF", "TAKEN", "SIZE", "DATABASE", "REASON"}, rows)
}

func (r *restoring) restore(ctx context.Context) error {
	st, bin, err := r.source()
	if err != nil {
		return err
	}
	identities, err := backup.ReadIdentities(r.flags.identity, r.env.In)
	if err != nil {
		return err
	}
	shown, err := newProgress(r.env, "auto")
	if err != nil {
		return err
	}
	subject := lease.Item{Scope: r.flags.scope}
	o := backup.RestoreOptions{
		Store: st, Scope: r.flags.scope, Backup: r.flags.backup, Identities: identities, PgBin: bin,
		To: r.flags.to, Create: r.flags.create, Confirm: r.flags.confirm,
		NoOwner: r.flags.noOwner, NoPrivileges: r.flags.noPrivileges, DryRun: r.flags.dryRun,
		Progress: func(stage string, bytes int64) { shown.report(subject, stage, bytes) },
	}
	if r.flags.output == "-" {
		o.Archive = r.env.Out
	} else {
		o.Output = r.flags.output
	}
	report, err := backup.Restore(ctx, o)
	shown.end(subject)
	if err != nil {
		return err
	}
	r.record(ctx, report)
	return r.print(report)
}

// record leaves a receipt on the ledger's own chain. A restore must not fail because
// the ledger is what was lost.
func (r *restoring) record(ctx context.Context, report backup.RestoreReport) {
	if r.flags.from != "" || report.DryRun {
		return
	}
	note := r.env.Log.Warn().Str("scope", report.Scope).Str("backup", report.Backup)
	detail, err := json.Marshal(report)
	if err != nil {
		note.Err(err).Msg("restore not recorded in the ledger")
		return
	}
	db, closeLedger, err := r.env.Ledger(ctx)
	if err != nil {
		note.Err(err).Msg("restore not recorded in the ledger")
		return
	}
	defer closeLedger()
	if err := db.Record(ctx, "restored", detail); err != nil {
		note.Err(err).Msg("restore not recorded in the ledger")
	}
}

// print says what was done; standard output may be the archive's.
func (r *restoring) print(report backup.RestoreReport) error {
	if r.flags.output == "-" {
		return nil
	}
	if r.env.json {
		return r.env.printJSON(report)
	}
	took := span(time.Duration(report.Seconds * float64(time.Second)))
	switch {
	case report.DryRun:
		return r.env.say("backup %s of %s, taken %s, %s stored, can be restored into %s", report.Backup, report.Scope, stamp(report.TakenAt), size(report.Stored), report.Target)
	case r.flags.to != "":
		return r.env.say("restored backup %s of %s, taken %s, into %s: %d tables, %s in %s", report.Backup, report.Scope, stamp(report.TakenAt), report.Target, report.Tables, size(report.Bytes), took)
	}
	return r.env.say("wrote backup %s of %s, taken %s, to %s: %s in %s", report.Backup, report.Scope, stamp(report.TakenAt), report.Target, size(report.Bytes), took)
}
