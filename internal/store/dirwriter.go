package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// tries bounds how often a folder is made again that others keep removing.
const tries = 16

// errEnded is what a writer answers that was committed or aborted.
var errEnded = errors.New("it was committed or aborted before")

// Create begins a file without a name in the folder of its key. The size is not needed.
func (d *Dir) Create(ctx context.Context, key string, _ int64) (Writer, error) {
	return d.create(ctx, key)
}

// PutOnce writes a small file as a whole.
func (d *Dir) PutOnce(ctx context.Context, key string, body []byte) error {
	w, err := d.create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := bytes.NewReader(body).WriteTo(w); err != nil {
		return errors.Join(err, w.Abort(context.WithoutCancel(ctx)))
	}
	_, err = w.Commit(ctx)
	return err
}

func (d *Dir) create(ctx context.Context, key string) (*fileWriter, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("create %s: %w", key, context.Cause(ctx))
	}
	path, name, _ := cutLast(key)
	w := &fileWriter{dir: d, key: key, path: path, name: name}
	err := w.begin()
	for try := 1; try < tries && pruned(err); try++ {
		err = w.begin() // the folder went before the file was in it
	}
	if err != nil {
		return nil, d.fail("create", key, err)
	}
	return w, nil
}

// fileWriter writes one object. It holds the folder open, so link and unlink meet
// the file it made, whatever happens to the path. The file has no name before it is
// committed, so a process that is killed leaves nothing; where the file system knows no
// such files it has a hidden one.
type fileWriter struct {
	dir    *Dir
	key    string
	path   string // of the folder
	name   string
	hidden string // "" for a file without a name
	folder *os.File
	file   *os.File
	size   int64
	flush  flusher
	err    error // what broke the object, or errEnded
	ended  bool
}

// begin makes the folder and the file in it.
func (w *fileWriter) begin() error {
	folder, err := w.enter()
	if err != nil {
		return err
	}
	if w.file, err = w.dir.nameless(folder); errors.Is(err, errors.ErrUnsupported) {
		w.hidden = "." + strings.ToLower(rand.Text())
		w.file, err = openAt(folder, w.hidden, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	}
	if err != nil {
		_ = folder.Close()
		return err
	}
	w.folder = folder
	return nil
}

// enter makes the folder and opens it.
func (w *fileWriter) enter() (*os.File, error) {
	if err := w.dir.root.MkdirAll(w.path, 0o700); err != nil {
		return nil, err
	}
	return w.dir.openFolder(w.path)
}

// pruned tells that a folder went away while something was made in it. MkdirAll says
// that it exists, where it went between two of its looks.
func pruned(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EEXIST)
}

// processFiles is where the kernel shows what a process has open: the only way to name
// a nameless file that asks for no privilege.
const processFiles = "/proc/self/fd"

// openNameless opens a new file without a name, or fails with errors.ErrUnsupported.
func openNameless(folder *os.File) (*os.File, error) {
	if unix.Access(processFiles, unix.X_OK) != nil {
		return nil, errors.ErrUnsupported
	}
	file, err := openAt(folder, ".", unix.O_WRONLY|unix.O_TMPFILE)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return nil, errors.ErrUnsupported
	case errors.Is(err, unix.EPERM) && removed(folder):
		return nil, unix.ENOENT // ext4 says it so
	}
	return file, err
}

// removed tells that an open folder has no name any more.
func removed(folder *os.File) bool {
	var stat unix.Stat_t
	return unix.Fstat(int(folder.Fd()), &stat) == nil && stat.Nlink == 0
}

// Write appends to the file. After an error the object cannot be committed.
func (w *fileWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.dir.fail("write", w.key, w.err)
	}
	n, err := w.file.Write(p)
	w.size += int64(n)
	if err == nil {
		err = w.flush.wrote(w.file, w.size)
	}
	if err != nil {
		w.err = err
		return n, w.dir.fail("write", w.key, err)
	}
	return n, nil
}

// Commit syncs the file, links it to its place and syncs every folder up to the root,
// since whoever made them may not have. An error after the link leaves the object
// standing: ask for it.
func (w *fileWriter) Commit(ctx context.Context) (Info, error) {
	if w.ended {
		return Info{}, w.dir.fail("commit", w.key, errEnded)
	}
	if ctx.Err() != nil && w.err == nil {
		w.err = context.Cause(ctx)
	}
	info, err := w.publish()
	w.end(err)
	if err != nil {
		return Info{}, w.dir.fail("commit", w.key, err)
	}
	return info, nil
}

func (w *fileWriter) publish() (Info, error) {
	if w.err != nil {
		return Info{}, w.err
	}
	if err := w.dir.sync(w.file); err != nil {
		return Info{}, err
	}
	if err := w.link(); err != nil {
		return Info{}, err
	}
	if err := w.unlink(); err != nil {
		return Info{}, err
	}
	if err := w.syncFolders(); err != nil {
		return Info{}, err
	}
	info, err := look(w.folder, w.name, w.key)
	if err != nil {
		return Info{}, err
	}
	if info.Size != w.size {
		return Info{}, fmt.Errorf("%d bytes were written, %d stand there", w.size, info.Size)
	}
	return info, nil
}

// link gives the file its name, unless that is taken.
func (w *fileWriter) link() error {
	err := w.linkOnce()
	for try := 1; try < tries && w.hidden == "" && errors.Is(err, unix.ENOENT); try++ {
		// A nameless file does not keep its folder from being pruned.
		folder, again := w.enter()
		if pruned(again) {
			continue
		}
		if again != nil {
			return again
		}
		_ = w.folder.Close()
		w.folder = folder
		err = w.linkOnce()
	}
	switch {
	case errors.Is(err, unix.EEXIST) && !w.linked():
		return ErrExists
	case errors.Is(err, unix.EEXIST):
		return nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return errNoLink
	}
	return err
}

func (w *fileWriter) linkOnce() error {
	folder := int(w.folder.Fd())
	if w.hidden != "" {
		return unix.Linkat(folder, w.hidden, folder, w.name, 0)
	}
	open := fmt.Sprintf("%s/%d", processFiles, w.file.Fd())
	return unix.Linkat(unix.AT_FDCWD, open, folder, w.name, unix.AT_SYMLINK_FOLLOW)
}

// unlink takes the hidden name away, where there is one.
func (w *fileWriter) unlink() error {
	if w.hidden == "" {
		return nil
	}
	return unix.Unlinkat(int(w.folder.Fd()), w.hidden, 0)
}

// linked tells whether the name is already the file's own: a network file system may
// have asked its server twice.
func (w *fileWriter) linked() bool {
	var there, ours unix.Stat_t
	return unix.Fstatat(int(w.folder.Fd()), w.name, &there, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		unix.Fstat(int(w.file.Fd()), &ours) == nil &&
		there.Dev == ours.Dev && there.Ino == ours.Ino
}

func (w *fileWriter) syncFolders() error {
	if err := w.dir.sync(w.folder); err != nil {
		return err
	}
	path, _, ok := cutLast(w.key)
	for ok {
		path, _, ok = cutLast(path)
		folder, err := w.dir.openFolder(path)
		if err != nil {
			return err
		}
		err = w.dir.sync(folder)
		_ = folder.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Abort gives the file up. It does so under an ended context too, and does
// nothing after Commit or Abort.
func (w *fileWriter) Abort(context.Context) error {
	if w.ended {
		return nil
	}
	if err := w.end(errEnded); err != nil {
		return w.dir.fail("abort", w.key, err)
	}
	return nil
}

// end closes what is open and, unless all went well, leaves nothing behind.
func (w *fileWriter) end(cause error) error {
	w.ended, w.err = true, errEnded
	defer w.folder.Close()
	_ = w.file.Close() // synced before, or not wanted
	if cause == nil {
		return nil
	}
	err := w.unlink()
	w.dir.prune(w.key)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
