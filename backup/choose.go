package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/heyaira/heyaira-loop/internal/store"
)

// choose finds the backup to restore and the scope it belongs to. Without an id it is
// the newest one that was verified and not refuted; by its id any that was published.
func choose(ctx context.Context, st store.Store, scope, backup string) (*Manifest, ID, error) {
	scope, err := onlyScope(ctx, st, scope)
	if err != nil {
		return nil, ID{}, err
	}
	if backup != "" {
		return chooseNamed(ctx, st, scope, backup)
	}
	entries, err := scan(ctx, st, scope)
	if err != nil {
		return nil, ID{}, err
	}
	unproven := ""
	for _, e := range entries {
		manifest, _, err := proven(ctx, st, scope, e)
		if err != nil {
			return nil, ID{}, advise(fmt.Errorf("choose backup of %s: %w", scope, err), "name another one with --backup; --list shows them")
		}
		if manifest != nil {
			return manifest, e.ID, nil
		}
		if unproven == "" && e.Manifest && !e.Refuted {
			if manifest, _, err := readManifest(ctx, st, scope, e.ID); err == nil && manifest != nil {
				unproven = manifest.Backup
			}
		}
	}
	if unproven != "" {
		return nil, ID{}, advise(fmt.Errorf("choose backup of %s: none is verified in %s", scope, st),
			"--backup "+unproven+" restores the newest one that is not")
	}
	return nil, ID{}, advise(fmt.Errorf("choose backup of %s: none in %s", scope, st), "is it the right store, and is it mounted?")
}

func chooseNamed(ctx context.Context, st store.Store, scope, backup string) (*Manifest, ID, error) {
	id, err := ParseID(backup)
	if err != nil {
		return nil, ID{}, advise(err, "--list shows the ids")
	}
	manifest, end, err := readManifest(ctx, st, scope, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, ID{}, advise(fmt.Errorf("find backup %s of %s: not in %s", backup, scope, st), "--list shows the ids")
	case err != nil:
		return nil, ID{}, err
	case end != nil:
		return nil, ID{}, fmt.Errorf("find backup %s of %s: its attempt was closed before it was published", backup, scope)
	}
	return manifest, id, nil
}

// onlyScope is scope, or the one that the store holds.
func onlyScope(ctx context.Context, st store.Store, scope string) (string, error) {
	if scope != "" {
		return scope, checkScope(scope)
	}
	names, err := scopes(ctx, st)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", advise(fmt.Errorf("find scope: %s holds no backups", st), "name the folder that holds store.json")
	case len(names) > 1:
		return "", advise(fmt.Errorf("find scope: %s holds several: %s", st, strings.Join(names, ", ")), "name one with --scope")
	}
	return names[0], nil
}
