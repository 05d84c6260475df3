package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heyaira/heyaira-loop/lease"
)

const key = "app/2026/main.dump"

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := NewDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// wantBlocked fails unless err is blocked, for this reason, and advises what to do.
func wantBlocked(t *testing.T, err, reason error, advice string) {
	t.Helper()
	var hinted interface{ Hint() string }
	switch {
	case err == nil || !errors.Is(err, reason) || lease.ClassOf(err) != lease.Blocked:
		t.Errorf("got %v, class %s, want blocked: %v", err, lease.ClassOf(err), reason)
	case !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), advice):
		t.Errorf("got no hint %q for %v", advice, err)
	}
}

// wantNoneLeft fails if anything stands in the folder.
func wantNoneLeft(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestFolderIsNeverMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "unmounted")
	_, err := NewDir(path)
	wantBlocked(t, err, syscall.ENOENT, "mkdir -p -m 0700 "+path)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("it was made: %v", err)
	}
	if _, err := NewDir("relative/path"); err == nil {
		t.Error("a relative path was taken")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = NewDir(path)
	wantBlocked(t, err, errNoFolder, path)
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	if err := d.PutOnce(t.Context(), key, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"app": 0o700, "app/2026": 0o700, key: 0o600} {
		stat, err := os.Stat(filepath.Join(path, name))
		if err != nil || stat.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want %v", name, stat.Mode(), err, want)
		}
	}
}

func TestCommitSyncsFileThenEveryFolder(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	var synced []string
	d.sync = func(f *os.File) error {
		stat, err := f.Stat()
		if err != nil {
			t.Error(err)
		}
		visible := false
		if _, err := os.Stat(filepath.Join(path, key)); err == nil {
			visible = true
		}
		if stat.IsDir() != visible {
			t.Errorf("folder %v is synced while the object is visible %v", stat.IsDir(), visible)
		}
		for name, at := range map[string]string{"root": "", "app": "app", "2026": "app/2026", "file": key} {
			if there, err := os.Stat(filepath.Join(path, at)); err == nil && os.SameFile(there, stat) {
				synced = append(synced, name)
			}
		}
		if !stat.IsDir() {
			synced = append(synced, "file")
		}
		return f.Sync()
	}
	if err := d.PutOnce(t.Context(), key, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"file", "2026", "app", "root"}; !slices.Equal(synced, want) {
		t.Errorf("got %v, want %v", synced, want)
	}
	synced = nil
	d.sync = func(f *os.File) error {
		synced = append(synced, f.Name())
		return f.Sync()
	}
	if err := d.Remove(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if len(synced) != 1 {
		t.Errorf("remove synced %v, want the folder", synced)
	}
}

func TestFailedSyncIsReportedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	d.sync = func(*os.File) error { return &os.PathError{Op: "sync", Err: syscall.EIO} }
	w, err := d.Create(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); !errors.Is(err, syscall.EIO) || lease.ClassOf(err) != lease.Transient {
		t.Errorf("commit: got %v", err)
	}
	wantNoneLeft(t, path)
	if err := d.PutOnce(t.Context(), key, []byte("x")); !errors.Is(err, syscall.EIO) {
		t.Errorf("put: got %v", err)
	}
	wantNoneLeft(t, path)
}

func TestLostFolderIsNotEmpty(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, replaced := range []bool{false, true} {
		if replaced {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		_, err := d.Stat(t.Context(), key)
		wantBlocked(t, err, errGone, "mount")
		_, err = d.Open(t.Context(), key)
		wantBlocked(t, err, errGone, "mount")
		wantBlocked(t, d.Remove(t.Context(), key), errGone, "mount")
		for _, err = range d.List(t.Context(), "app/", "") {
		}
		wantBlocked(t, err, errGone, "mount")
		wantBlocked(t, d.PutOnce(t.Context(), key, nil), syscall.ENOENT, "mount")
	}
	wantNoneLeft(t, path)
}

func TestNothingLeadsOut(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	d := open(t, path)
	for name, target := range map[string]string{"folder": outside, "file": filepath.Join(outside, "secret"), "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := d.Stat(t.Context(), "folder/secret")
	wantBlocked(t, err, errNoFolder, path)
	_, err = d.Open(t.Context(), "folder/secret")
	wantBlocked(t, err, errNoFolder, path)
	wantBlocked(t, d.PutOnce(t.Context(), "folder/new", nil), errNoFolder, path)
	wantBlocked(t, d.Remove(t.Context(), "folder/secret"), errNoFolder, path)
	for _, key := range []string{"file", "dangling"} {
		_, err = d.Open(t.Context(), key)
		wantBlocked(t, err, errNoFile, path)
		wantBlocked(t, d.Remove(t.Context(), key), errNoFile, path)
		if err := d.PutOnce(t.Context(), key, nil); !errors.Is(err, ErrExists) {
			t.Errorf("put over %s: got %v", key, err)
		}
	}
	for _, err = range d.List(t.Context(), "", "") {
	}
	wantBlocked(t, err, errNoFile, path)
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestListShowsObjectsOnly(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	w, err := d.Create(t.Context(), "app/unfinished", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(context.Background())
	for _, name := range []string{"lost+found", ".snapshot", "empty"} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lost+found/#1", ".snapshot/x", "bad\nname"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for info, err := range d.List(t.Context(), "", "") {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestFullDiskIsBlocked(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	mount(t, path, "size=1m")
	d := open(t, path)
	w, err := d.Create(t.Context(), key, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(make([]byte, 4<<20))
	wantBlocked(t, err, syscall.ENOSPC, "make room for "+path)
	_, err = w.Write([]byte("more"))
	wantBlocked(t, err, syscall.ENOSPC, path)
	_, err = w.Commit(t.Context())
	wantBlocked(t, err, syscall.ENOSPC, path)
	wantNoneLeft(t, path)
	wantBlocked(t, d.PutOnce(t.Context(), key, make([]byte, 4<<20)), syscall.ENOSPC, path)
	wantNoneLeft(t, path)
}

func TestReadOnlyDiskIsBlocked(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	mount(t, path, "size=1m")
	d := open(t, path)
	if err := d.PutOnce(t.Context(), key, nil); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	wantBlocked(t, d.PutOnce(t.Context(), "app/other", nil), syscall.EROFS, "writable")
	wantBlocked(t, d.Remove(t.Context(), key), syscall.EROFS, "writable")
}

// mount puts a small file system of its own at a path.
func mount(t *testing.T, path, options string) {
	t.Helper()
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, options+",mode=0700"); err != nil {
		t.Skipf("mounting needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

func TestRefusedAccessIsBlocked(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d := open(t, path)
	if err := d.PutOnce(t.Context(), key, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(path, "app"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(path, "app"), 0o700) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Geteuid() == 0 {
			// Root may do anything, so this thread is somebody else; it ends with the goroutine.
			runtime.LockOSThread()
			if err := unix.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		_, err := d.Stat(t.Context(), key)
		wantBlocked(t, err, syscall.EACCES, "belong to user")
		wantBlocked(t, d.PutOnce(t.Context(), key+"2", nil), syscall.EACCES, "belong to user")
		for _, err = range d.List(t.Context(), "app/", "") {
		}
		wantBlocked(t, err, syscall.EACCES, "belong to user")
	}()
	<-done
}
