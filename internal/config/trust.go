package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// sizeLimit is far above any file a person writes.
const sizeLimit = 1 << 20

// readTrusted reads a file that only root and the caller can have written: the file
// that is opened is the one that is judged, and so are the folders that a link and
// its target stand in, because who can write a folder can put another file there.
// forbidden are further permission bits that the file must not have.
func readTrusted(path string, forbidden fs.FileMode) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Path: path, Problem: cause(err)}
	}
	// Asked before opening: opening a pipe would wait for its writer.
	if !info.Mode().IsRegular() {
		return nil, &Error{Path: path, Problem: "not a regular file"}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, &Error{Path: path, Problem: cause(err)}
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, &Error{Path: path, Problem: cause(err)}
	}
	if refusal := judge(path, info, forbidden); refusal != nil {
		return nil, refusal
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, &Error{Path: path, Problem: cause(err)}
	}
	for _, folder := range []string{filepath.Dir(path), filepath.Dir(target)} {
		info, err := os.Stat(folder)
		if err != nil {
			return nil, &Error{Path: folder, Problem: cause(err)}
		}
		if refusal := judge(folder, info, 0); refusal != nil {
			return nil, refusal
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, sizeLimit+1))
	if err != nil {
		return nil, &Error{Path: path, Problem: cause(err)}
	}
	if len(text) > sizeLimit {
		return nil, &Error{Path: path, Problem: "larger than 1 MiB"}
	}
	return text, nil
}

// judge refuses a file or folder that somebody else can change. A folder with the
// sticky bit lets nobody replace another's file.
func judge(path string, info fs.FileInfo, forbidden fs.FileMode) error {
	sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0
	if info.Mode().Perm()&0o022 != 0 && !sticky {
		return &Error{Path: path, Problem: "group or others can write it", Advice: "chmod go-w " + quote(path)}
	}
	if info.Mode().Perm()&forbidden != 0 {
		return &Error{Path: path, Problem: "others can read it", Advice: "chmod o-rwx " + quote(path)}
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return &Error{Path: path, Problem: "its owner is unknown"}
	}
	if caller := os.Geteuid(); stat.Uid != 0 && int(stat.Uid) != caller {
		return &Error{
			Path:    path,
			Problem: fmt.Sprintf("it belongs to user %d, neither to root nor to the caller (%d)", stat.Uid, caller),
			Advice:  fmt.Sprintf("chown %d %s", caller, quote(path)),
		}
	}
	return nil
}

// cause drops the path that a PathError repeats.
func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// quote makes a path one word of a shell.
func quote(path string) string {
	plain := func(r rune) bool {
		return !strings.ContainsRune("/._-+@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if strings.IndexFunc(path, plain) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
