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

// Create begins a hidden file beside the key's place. The size is not needed.
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
	w := &fileWriter{dir: d, key: key, name: name, hidden: "." + strings.ToLower(rand.Text())}
	err := w.begin(path)
	for try := 1; try < tries && errors.Is(err, unix.ENOENT); try++ {
		err = w.begin(path) // the folder was pruned before the file was in it
	}
	if err != nil {
		return nil, d.fail("create", key, err)
	}
	return w, nil
}

// fileWriter writes one object. It holds the folder open, so link and unlink meet
// the file it made, whatever happens to the path.
type fileWriter struct {
	dir    *Dir
	key    string
	name   string
	hidden string
	folder *os.File
	file   *os.File
	size   int64
	flush  flusher
	err    error // what broke the object, or errEnded
	ended  bool
}

// begin makes the folder and the hidden file in it.
func (w *fileWriter) begin(path string) error {
	if err := w.dir.root.MkdirAll(path, 0o700); err != nil {
		return err
	}
	folder, err := w.dir.openFolder(path)
	if err != nil {
		return err
	}
	if w.file, err = openAt(folder, w.hidden, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL); err != nil {
		_ = folder.Close()
		return err
	}
	w.folder = folder
	return nil
}

// Write appends to the hidden file. After an error the object cannot be committed.
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
	if err := unix.Unlinkat(int(w.folder.Fd()), w.hidden, 0); err != nil {
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
	folder := int(w.folder.Fd())
	err := unix.Linkat(folder, w.hidden, folder, w.name, 0)
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

// Abort removes the hidden file. It does so under an ended context too, and does
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
	err := unix.Unlinkat(int(w.folder.Fd()), w.hidden, 0)
	w.dir.prune(w.key)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
