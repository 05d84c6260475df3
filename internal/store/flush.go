package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flushEvery is how much is written before the kernel is asked to write it down.
const flushEvery = 32 << 20

// flusher keeps what is written but not on disk bounded. Without it a host with much
// memory collects tens of gigabytes, and the sync of a commit moves no byte that
// anybody can see for longer than a stalled step is allowed to live.
type flusher struct {
	asked   int64 // the kernel was asked to write up to here
	settled int64 // on disk up to here
	off     bool
}

// wrote starts the writing of each stretch when it is full, and waits for the one
// before it. An error that is reported here is not reported again by the commit's
// sync, so it has to count.
func (f *flusher) wrote(file *os.File, size int64) error {
	if f.off || size-f.asked < flushEvery {
		return nil
	}
	const settle = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	fd := int(file.Fd())
	err := unix.SyncFileRange(fd, f.asked, size-f.asked, unix.SYNC_FILE_RANGE_WRITE)
	if err == nil && f.asked > f.settled {
		err = unix.SyncFileRange(fd, f.settled, f.asked-f.settled, settle)
	}
	f.settled, f.asked = f.asked, size
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		f.off, err = true, nil // the sync of the commit does it all
	}
	return err
}
