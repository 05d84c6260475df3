package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// findBin answers the folder of PostgreSQL's programs: the newest that Debian's
// packages installed, else the one that PATH leads to.
func findBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", fmt.Errorf("find postgres: %w", err)
	}
	best, newest := "", 0
	for _, path := range found {
		bin := filepath.Dir(path)
		major, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
		if err == nil && major > newest {
			best, newest = bin, major
		}
	}
	if best != "" {
		return best, nil
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", errors.New("find postgres: none under /usr/lib/postgresql or on PATH (apt-get install postgresql)")
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("find postgres: %w", err)
	}
	return filepath.Dir(path), nil
}

// account is who the server runs as. PostgreSQL refuses to run as root, so root
// lends it another account; anybody else runs it as themselves (nil).
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		entry, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(entry.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read uid of %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(entry.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read gid of %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("find an account for postgres: root needs a user postgres or nobody")
}

// environ is all that a server's programs get of this process's environment.
func environ() []string {
	return []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}
