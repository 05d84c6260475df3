package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/internal/proc"
)

// intoDatabase restores into a database that is new or is made for it.
func (r *restore) intoDatabase(ctx context.Context, report *RestoreReport) error {
	to, err := readDestination(r.To)
	if err != nil {
		return err
	}
	report.Target = to.database
	conn, client, err := r.examine(ctx, to)
	if err != nil {
		return err
	}
	child := to.child(conn)
	hangUp(ctx, conn)
	// From here on pg_restore reads the backup: only what was written.
	if err := r.proveObject(ctx); err != nil {
		return err
	}
	if err := r.admit(ctx, to, client); err != nil || r.DryRun {
		return err
	}
	if r.Create {
		err = to.create(ctx, r.manifest.Server)
	} else {
		err = to.stillEmpty(ctx)
	}
	if err != nil {
		return err
	}
	if err := r.replay(ctx, client.restore, child); err != nil {
		if r.Create {
			err = then(err, to.drop(ctx))
		}
		return err
	}
	report.Tables, err = to.tables(ctx)
	return err
}

// examine finds out all that could make the restore fail, before it changes anything.
// It answers a connection to the target's server and the client to restore with.
func (r *restore) examine(ctx context.Context, to *destination) (_ *pgx.Conn, client tools, err error) {
	conn, err := r.reach(ctx, to)
	if err != nil {
		return nil, tools{}, err
	}
	defer func() {
		if err != nil {
			hangUp(ctx, conn)
		}
	}()
	there, err := facts(ctx, conn)
	if err != nil {
		return nil, tools{}, err
	}
	if err := r.suitable(to, there); err != nil {
		return nil, tools{}, err
	}
	if !r.Create {
		if err := empty(ctx, conn, to.database); err != nil {
			return nil, tools{}, err
		}
	}
	// An archive is read by the release that wrote it, or a newer one.
	major := max(there.Version, r.manifest.Dump.Version) / 10000
	if client, err = findTools(ctx, r.PgBin, major); err != nil {
		return nil, tools{}, err
	}
	return conn, client, r.lacking(ctx, conn, nil)
}

// reach connects to the target, or to its server where the target is to be made.
func (r *restore) reach(ctx context.Context, to *destination) (*pgx.Conn, error) {
	if r.Create {
		return to.connect(ctx, maintenance)
	}
	return to.connect(ctx, "")
}

// suitable refuses a target that cannot take the backup, and the protected database
// unless its name was typed.
func (r *restore) suitable(to *destination, there destinationFacts) error {
	from := r.manifest.Server
	name := to.database
	if !r.Create {
		name = there.Database // whatever it is called on the way there
	}
	protected := name == from.Database && (there.SystemIdentifier == from.SystemIdentifier || there.SystemIdentifier == "")
	switch {
	case protected && r.Confirm != name:
		return advise(fmt.Errorf("restore into %s: this is the protected database itself", to.database),
			"restore beside it under another name, or confirm this one by typing its name")
	case there.Template && !r.Create:
		return advise(fmt.Errorf("restore into %s: it is a template: databases that are made later would hold the backup too", to.database),
			"restore into a new database: --create makes it")
	case there.ReadOnly:
		return fmt.Errorf("restore into %s: its server is read-only", to.database)
	case there.Version/10000 < from.Version/10000:
		return advise(fmt.Errorf("restore into %s: its server is PostgreSQL %d, the backup is from %d", to.database, there.Version/10000, from.Version/10000),
			fmt.Sprintf("restore into PostgreSQL %d or newer", from.Version/10000))
	}
	return nil
}

// admit refuses a server that lacks roles that the backup names. Those that only large
// objects name are found out by pg_restore.
func (r *restore) admit(ctx context.Context, to *destination, client tools) error {
	opened, err := r.open(ctx)
	if err != nil {
		return err
	}
	named, err := readNeeds(ctx, client.restore, opened)
	if closed := opened.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("look into backup %s: %w", r.manifest.Backup, err)
	}
	roles := []string{}
	if !r.NoOwner {
		roles = append(roles, named.owners...)
	}
	if !r.NoPrivileges {
		roles = append(roles, named.grantees...)
	}
	conn, err := r.reach(ctx, to)
	if err != nil {
		return err
	}
	defer hangUp(ctx, conn)
	return r.lacking(ctx, conn, roles)
}

// lacking refuses a server that has not all of the roles, nor the backup's extensions.
func (r *restore) lacking(ctx context.Context, conn *pgx.Conn, roles []string) error {
	rows, err := conn.Query(ctx, lackingSQL, slices.Compact(slices.Sorted(slices.Values(roles))), slices.Sorted(maps.Keys(r.manifest.Extensions)))
	if err != nil {
		return targetError(ctx, "ask target", err)
	}
	lacking := map[string][]string{}
	var kind, name string
	if _, err := pgx.ForEachRow(rows, []any{&kind, &name}, func() error {
		lacking[kind] = append(lacking[kind], name)
		return nil
	}); err != nil {
		return targetError(ctx, "ask target", err)
	}
	if missing := lacking["role"]; missing != nil {
		return advise(fmt.Errorf("restore backup %s: the target's server lacks roles: %s", r.manifest.Backup, strings.Join(missing, ", ")),
			"CREATE ROLE them, or restore with --no-owner and --no-privileges")
	}
	if missing := lacking["extension"]; missing != nil {
		return advise(fmt.Errorf("restore backup %s: the target's server lacks extensions: %s", r.manifest.Backup, strings.Join(missing, ", ")),
			"install their packages on that server (apt-get install postgresql-contrib for the common ones)")
	}
	return nil
}

// replay runs pg_restore in one transaction: it ends with all of the backup there, or
// with nothing.
func (r *restore) replay(ctx context.Context, pgRestore, conninfo string) error {
	opened, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	input := &valve{source: r.stream(ctx, opened)}
	defer input.shut()
	args := []string{"--exit-on-error", "--single-transaction", "--no-password", "--dbname=" + conninfo}
	if r.NoOwner {
		args = append(args, "--no-owner")
	}
	if r.NoPrivileges {
		args = append(args, "--no-privileges")
	}
	err = proc.Run(ctx, proc.Command{
		Name:  "pg_restore",
		Path:  pgRestore,
		Args:  args,
		Env:   libpqEnvironment(),
		Stdin: input,
	})
	if err != nil {
		return fmt.Errorf("restore backup %s: %w", r.manifest.Backup, restoreError(err))
	}
	return nil
}

// restoreError reads what pg_restore said last and adds what to do about it.
func restoreError(err error) error {
	var exit *proc.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	for _, known := range []struct{ text, hint string }{
		{"must be member of role", "restore as a superuser, or with --no-owner"},
		{"must be able to SET ROLE", "restore as a superuser, or with --no-owner"},
		{"role \"", "CREATE ROLE the one that is missing, or restore with --no-owner and --no-privileges"},
		{"must be owner of", "restore as a superuser, or with --no-owner and --no-privileges"},
		{"permission denied to create extension", "restore as a superuser: the extension is not trusted"},
		{"permission denied", "restore as a superuser, or as the owner of the target"},
		{"already exists", "somebody else wrote into the target meanwhile: restore into a new one"},
		{"max_locks_per_transaction", "raise max_locks_per_transaction on the target's server: the backup has many tables or large objects"},
		{"No space left on device", "free space on the target's server"},
		{"no password supplied", "put the password into PGPASSFILE or a service file; PGPASSWORD is not passed on"},
	} {
		if strings.Contains(exit.Tail, known.text) {
			return advise(err, known.hint)
		}
	}
	return err
}
