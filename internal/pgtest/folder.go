package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// The names are short because a socket's path may have 107 bytes. What is kept for a
// person has another name, so that no sweep finds it.
const (
	prefix     = "/tmp/heyaira-pg-"
	keptPrefix = "/tmp/heyaira-pgkept-"
)

// folder is where one server lives. Its lock is held by the test process alone, so
// a folder whose lock is free was left behind by a process that was killed.
type folder struct {
	path string
	who  *syscall.Credential // whom it belongs to; nil: us
	lock *os.File
}

func newFolder(who *syscall.Credential) (*folder, error) {
	sweep()
	name := prefix
	if keep() {
		name = keptPrefix
	}
	path, err := os.MkdirTemp(filepath.Dir(name), filepath.Base(name)+"*")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	f := &folder{path: path, who: who}
	// It gets its name when it is locked, or a sweep could come in between.
	unnamed, named := filepath.Join(path, "lock.new"), filepath.Join(path, "lock")
	if f.lock, err = os.OpenFile(unnamed, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		err = syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		err = os.Rename(unnamed, named)
	}
	if err == nil && who != nil {
		err = os.Chown(path, int(who.Uid), int(who.Gid))
	}
	if err != nil {
		f.remove()
		return nil, fmt.Errorf("prepare folder: %w", err)
	}
	return f, nil
}

func (f *folder) remove() {
	_ = os.RemoveAll(f.path) // what is left is swept by a later test
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// sweep deletes the folders of processes that were killed. One without a lock file
// is being made this moment.
func sweep() {
	locks, _ := filepath.Glob(prefix + "*/lock")
	for _, path := range locks {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = lock.Close()
	}
}
