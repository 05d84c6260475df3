package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// intoFile writes the decrypted archive, for pg_restore -l, -L and -t by hand.
func (r *restore) intoFile(ctx context.Context, report *RestoreReport) error {
	report.Target = r.Output
	if r.Output != "" {
		if _, err := os.Lstat(r.Output); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = fs.ErrExist
			}
			return advise(fmt.Errorf("write %s: %w", r.Output, err), "name a file that is not there yet")
		}
	}
	if err := r.proveObject(ctx); err != nil || r.DryRun {
		return err
	}
	opened, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	if r.Output == "" {
		if _, err := io.Copy(r.Archive, r.stream(ctx, opened)); err != nil {
			return fmt.Errorf("write archive of backup %s: %w", r.manifest.Backup, err)
		}
		return nil
	}
	return newFile(r.Output, r.stream(ctx, opened))
}

// newFile writes a file that appears whole under its name, or not at all, readable by
// its owner alone. One that stands there already is left alone.
func newFile(path string, source io.Reader) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if gone := os.Remove(file.Name()); err == nil {
			err = gone
		}
	}()
	_, err = io.Copy(file, source)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
