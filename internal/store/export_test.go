package store

import (
	"errors"
	"os"
)

// HideFiles makes a folder behave like one of a file system without nameless files.
func (d *Dir) HideFiles() {
	d.nameless = func(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }
}
