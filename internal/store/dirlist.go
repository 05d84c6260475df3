package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

// List walks the folder. It holds the names of the folders on its way only, not of
// all objects.
func (d *Dir) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if err := checkPrefix(prefix); err != nil {
			yield(Info{}, err)
			return
		}
		start, _, _ := cutLast(prefix)
		w := &walk{dir: d, ctx: ctx, prefix: prefix, after: after, yield: yield}
		w.folder(start)
	}
}

type walk struct {
	dir    *Dir
	ctx    context.Context
	prefix string
	after  string
	yield  func(Info, error) bool
}

// folder walks one folder; false means that the walk is over.
func (w *walk) folder(path string) bool {
	if w.overdue() {
		return false
	}
	folder, err := w.dir.openFolder(path)
	if err != nil {
		return w.lost(path, err)
	}
	defer folder.Close()
	names, err := sortedNames(folder)
	if err != nil {
		return w.lost(path, err)
	}
	base := path + "/"
	if path == "." {
		base = ""
	}
	for _, name := range names {
		key := base + name
		switch {
		case strings.HasSuffix(name, "/"):
			if w.inside(key) && !w.folder(strings.TrimSuffix(key, "/")) {
				return false
			}
		case strings.HasPrefix(key, w.prefix) && key > w.after:
			if !w.object(folder, name, key) {
				return false
			}
		}
	}
	return true
}

// overdue ends the walk with an error where its context has ended: a listing that
// breaks off must not look whole.
func (w *walk) overdue() bool {
	if w.ctx.Err() == nil {
		return false
	}
	w.yield(Info{}, fmt.Errorf("list %s: %w", w.dir, context.Cause(w.ctx)))
	return true
}

// inside tells whether a folder, named with its slash, can hold a key that is asked for.
func (w *walk) inside(folder string) bool {
	if folder == "lost+found/" {
		return false // the file system's own, at the top of a mounted one
	}
	return (strings.HasPrefix(folder, w.prefix) || strings.HasPrefix(w.prefix, folder)) &&
		(folder > w.after || strings.HasPrefix(w.after, folder))
}

func (w *walk) object(folder *os.File, name, key string) bool {
	if w.overdue() {
		return false
	}
	info, err := look(folder, name, key)
	if isMissing(err) {
		return true // removed meanwhile
	}
	if err != nil {
		w.yield(Info{}, w.dir.fail("list", key, err))
		return false
	}
	return w.yield(info, nil)
}

// lost ends the walk, unless the folder is merely not there.
func (w *walk) lost(path string, err error) bool {
	if err = w.dir.absent(err); errors.Is(err, ErrNotFound) {
		return true
	}
	if path == "." {
		path = w.dir.path
	}
	w.yield(Info{}, w.dir.fail("list", path, err))
	return false
}

// sortedNames reads the names in a folder that can be part of a key, a folder's with
// a slash at its end: sorted like that they are in the order of the keys below them.
// What is neither file nor folder is among them, for object to refuse.
func sortedNames(folder *os.File) ([]string, error) {
	var names []string
	for {
		entries, err := folder.ReadDir(1024)
		for _, entry := range entries {
			name := entry.Name()
			if badPart(name) != "" {
				continue
			}
			if entry.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
		if err == io.EOF {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
