package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heyaira/heyaira-loop/internal/store"
)

// entry is a backup's folder as a listing shows it, unread.
type entry struct {
	ID       ID
	Manifest bool // or the record that closed the attempt
	Verified bool
	Refuted  bool
	Pinned   bool
}

// scan lists the backups of a scope, the newest generation first. Keys that are not
// of the layout are passed over: they are not ours to judge.
func scan(ctx context.Context, st store.Store, scope string) ([]entry, error) {
	if err := checkScope(scope); err != nil {
		return nil, err
	}
	found := map[ID]*entry{}
	for info, err := range st.List(ctx, scope+"/", "") {
		if err != nil {
			return nil, fmt.Errorf("list backups of %s: %w", scope, err)
		}
		_, id, name, ok := splitKey(info.Key)
		if !ok {
			continue
		}
		e := found[id]
		if e == nil {
			e = &entry{ID: id}
			found[id] = e
		}
		switch name {
		case manifestName:
			e.Manifest = true
		case verifiedName:
			e.Verified = true
		case refutedName:
			e.Refuted = true
		case pinName:
			e.Pinned = true
		}
	}
	entries := make([]entry, 0, len(found))
	for _, e := range found {
		entries = append(entries, *e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		switch {
		case a.ID.newer(b.ID):
			return -1
		case b.ID.newer(a.ID):
			return 1
		}
		return 0
	})
	return entries, nil
}

// newestManifest reads the newest manifest of a scope that is no closed attempt and not
// known to be damaged; nil where there is none.
func newestManifest(ctx context.Context, st store.Store, scope string) (*Manifest, error) {
	entries, err := scan(ctx, st, scope)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Manifest {
			continue
		}
		manifest, _, err := readManifest(ctx, st, scope, e.ID)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, errUnreadable) && e.Refuted {
			continue // deleted since it was listed, or damaged and known to be
		}
		if err != nil || manifest != nil {
			return manifest, err
		}
	}
	return nil, nil
}

// proven reads the manifest of a backup that was verified and not refuted since, and
// its proof; nil for any other.
func proven(ctx context.Context, st store.Store, scope string, e entry) (*Manifest, *proof, error) {
	if !e.Manifest || !e.Verified || e.Refuted {
		return nil, nil, nil
	}
	manifest, _, err := readManifest(ctx, st, scope, e.ID)
	if err != nil || manifest == nil {
		return nil, nil, err
	}
	var seen proof
	key := e.ID.key(scope, verifiedName)
	if err := readRecord(ctx, st, key, &seen); err != nil {
		return nil, nil, err
	}
	if seen.Backup != manifest.Backup || seen.Manifest != manifest.Digest {
		return nil, nil, unreadable(key, errors.New("it proves another manifest"))
	}
	return manifest, &seen, nil
}

// scopes lists the scopes that a store holds backups of.
func scopes(ctx context.Context, st store.Store) ([]string, error) {
	var names []string
	for after := ""; ; {
		next, ok, err := firstKey(ctx, st, after)
		if err != nil || !ok {
			return names, err
		}
		name := next
		for i := range next {
			if next[i] == '/' {
				name = next[:i]
				break
			}
		}
		if name == next {
			after = next // an object at the top
			continue
		}
		// Beyond every key of this folder: '~' sorts after what names may hold.
		after = name + "/~"
		if checkScope(name) == nil {
			names = append(names, name)
		}
	}
}

func firstKey(ctx context.Context, st store.Store, after string) (string, bool, error) {
	for info, err := range st.List(ctx, "", after) {
		if err != nil {
			return "", false, fmt.Errorf("list store: %w", err)
		}
		return info.Key, true, nil
	}
	return "", false, nil
}
