package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a store in a folder. Every object is a file of mode 0600 under its key. An
// object is written to a file without a name and linked to its place when it is
// whole, which fails where one stands already, whoever raced; file and folders are
// synced before anybody is told. The folder is held open, so that what is mounted
// over it later is never written to by mistake.
type Dir struct {
	path     string
	root     *os.Root                                // resolves folders; nothing leads out of it
	sync     func(f *os.File) error                  // File.Sync, but for tests
	nameless func(folder *os.File) (*os.File, error) // openNameless, but for tests
}

var _ Store = (*Dir)(nil)

// NewDir opens the store in the folder at an absolute path. The folder is never
// created: where it is missing, what should be mounted there may be missing too.
// Such errors are blocked and carry a hint.
func NewDir(path string) (*Dir, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("open store %s: not an absolute path", path)
	}
	d := &Dir{path: filepath.Clean(path), sync: (*os.File).Sync, nameless: openNameless}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, d.fail("open store", d.path, err)
	}
	d.root = root
	return d, nil
}

// String is the folder's path.
func (d *Dir) String() string { return d.path }

// Stat looks a file up.
func (d *Dir) Stat(ctx context.Context, key string) (Info, error) {
	folder, name, err := d.find(ctx, "look up", key)
	if err != nil {
		return Info{}, err
	}
	defer folder.Close()
	info, err := look(folder, name, key)
	if err != nil {
		return Info{}, d.fail("look up", key, d.absent(err))
	}
	return info, nil
}

// Open opens a file for reading.
func (d *Dir) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	folder, name, err := d.find(ctx, "open", key)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if _, err := look(folder, name, key); err != nil { // so that no pipe or device is opened
		return nil, d.fail("open", key, d.absent(err))
	}
	file, err := openAt(folder, name, unix.O_RDONLY)
	if err != nil {
		return nil, d.fail("open", key, d.absent(err))
	}
	stat, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, d.fail("open", key, err)
	}
	return &body{dir: d, key: key, file: file, left: stat.Size()}, nil
}

// Remove unlinks a file, syncs its folder and looks whether it is gone. Folders that
// became empty go too.
func (d *Dir) Remove(ctx context.Context, key string) error {
	folder, name, err := d.find(ctx, "remove", key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	_, err = look(folder, name, key)
	if err == nil {
		err = unix.Unlinkat(int(folder.Fd()), name, 0)
	}
	if err == nil || isMissing(err) {
		// Also where it was missing: who removed it may have died before the sync.
		err = d.sync(folder)
	}
	if err != nil {
		return d.fail("remove", key, err)
	}
	if _, err := look(folder, name, key); !isMissing(err) {
		if err == nil {
			err = errors.New("it is still there")
		}
		return d.fail("remove", key, err)
	}
	d.prune(key)
	return nil
}

// find opens the folder of a key; ErrNotFound where there is none.
func (d *Dir) find(ctx context.Context, verb, key string) (folder *os.File, name string, err error) {
	if err := checkKey(key); err != nil {
		return nil, "", err
	}
	if ctx.Err() != nil {
		return nil, "", fmt.Errorf("%s %s: %w", verb, key, context.Cause(ctx))
	}
	path, name, _ := cutLast(key)
	if folder, err = d.openFolder(path); err != nil {
		return nil, "", d.fail(verb, key, d.absent(err))
	}
	return folder, name, nil
}

func (d *Dir) openFolder(path string) (*os.File, error) {
	return d.root.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// prune removes the folders of a key that are empty, as far as that goes. Whoever is
// about to write into one of them makes it again.
func (d *Dir) prune(key string) {
	for path, _, ok := cutLast(key); ok; {
		var name string
		path, name, ok = cutLast(path)
		parent, err := d.openFolder(path)
		if err != nil {
			return
		}
		// Of folders only: by now the name may be an object's.
		err = unix.Unlinkat(int(parent.Fd()), name, unix.AT_REMOVEDIR)
		_ = parent.Close()
		if err != nil {
			return
		}
	}
}

// look answers what stands under a name; a folder is no object.
func look(folder *os.File, name, key string) (Info, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(folder.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return Info{Key: key, Size: stat.Size, Modified: time.Unix(stat.Mtim.Unix())}, nil
	case unix.S_IFDIR:
		return Info{}, unix.ENOENT
	}
	return Info{}, errNoFile
}

// openAt opens a name in a folder and follows no symbolic link.
func openAt(folder *os.File, name string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(folder.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, err
		}
	}
}

// body reads an object and knows how long it has to be.
type body struct {
	dir  *Dir
	key  string
	file *os.File
	left int64
}

// Read fails where the file ends before or after the size it had when it was opened.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.file.Read(p)
	b.left -= int64(n)
	switch {
	case err == io.EOF && b.left != 0:
		return n, fmt.Errorf("read %s: its size changed by %d bytes meanwhile", b.key, -b.left)
	case err != nil && err != io.EOF:
		return n, b.dir.fail("read", b.key, err)
	}
	return n, err
}

// Close closes the file.
func (b *body) Close() error { return b.file.Close() }
