package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/heyaira/heyaira-loop/lease"
)

var (
	errNoFile   = errors.New("it is neither a file nor a folder")
	errNoFolder = errors.New("its folder is none, or a link that leads out of the store")
	errNoLink   = errors.New("its file system has no hard links")
	errGone     = errors.New("the store's folder is gone, or another one took its place")
)

// fail names what failed and gives the error its class.
func (d *Dir) fail(verb, key string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the path is in our words already
		var errno syscall.Errno
		if !errors.As(err, &errno) && !errors.Is(err, fs.ErrClosed) {
			// Not the system's word but os.Root's, which has no name for it.
			err = fmt.Errorf("%w: %w", errNoFolder, err)
		}
	}
	what := verb + " " + key
	advice := d.advice(err)
	if advice == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return lease.WithClass(lease.Blocked, &advised{what, advice, err})
}

// advice is what can be done about an error that comes from the surroundings; empty
// for any other.
func (d *Dir) advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room for " + d.path
	case errors.Is(err, syscall.EROFS):
		return fmt.Sprintf("mount %s writable", d.path)
	case errors.Is(err, errNoLink):
		return fmt.Sprintf("put %s on a file system with hard links", d.path)
	case errors.Is(err, errNoFile), errors.Is(err, errNoFolder):
		return fmt.Sprintf("keep symbolic links and special files out of %s; mount a folder that should be elsewhere", d.path)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Sprintf("let %s and all in it belong to user %d", d.path, os.Geteuid())
	case errors.Is(err, errGone), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ESTALE), errors.Is(err, syscall.ENOTCONN):
		return fmt.Sprintf("mount what belongs at %[1]s, or make it: mkdir -p -m 0700 %[1]s", d.path)
	}
	return ""
}

// isMissing tells whether no object can stand there. A key below another object's
// key names nothing.
func isMissing(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR)
}

// absent turns the system's word for a missing file into ErrNotFound, but only where
// the store itself is still there: empty is not gone.
func (d *Dir) absent(err error) error {
	if !isMissing(err) {
		return err
	}
	named, err := os.Stat(d.path)
	if err != nil {
		return errGone
	}
	held, err := d.root.Stat(".")
	if err != nil || !os.SameFile(named, held) {
		return errGone
	}
	return ErrNotFound
}
