package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/heyaira/heyaira-loop/lease"
)

// The bounds of a key and of one part of it: S3's and the file systems'.
const (
	maxKey  = 1024
	maxPart = 255
)

// checkKey refuses what is no plain relative slash path. A part that begins with a
// dot is refused too: those names belong to the store and to the file system.
func checkKey(key string) error {
	if len(key) > maxKey {
		return badKey(key, fmt.Sprintf("longer than %d bytes", maxKey))
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" {
			return badKey(key, "an empty part")
		}
		if reason := badPart(part); reason != "" {
			return badKey(key, reason)
		}
	}
	return nil
}

// checkPrefix refuses what no key begins with.
func checkPrefix(prefix string) error {
	folder, rest, ok := cutLast(prefix)
	if ok {
		if err := checkKey(folder); err != nil {
			return err
		}
	}
	if reason := badPart(rest); reason != "" {
		return badKey(prefix, reason)
	}
	return nil
}

func badPart(part string) string {
	switch {
	case len(part) > maxPart:
		return fmt.Sprintf("a part longer than %d bytes", maxPart)
	case strings.HasPrefix(part, "."):
		return "a part that begins with a dot"
	case !utf8.ValidString(part):
		return "not UTF-8"
	case strings.ContainsFunc(part, unicode.IsControl):
		return "a control character"
	}
	return ""
}

// badKey is permanent: the same key will never be a good one.
func badKey(key, reason string) error {
	if len(key) > 64 {
		key = key[:64] + "…"
	}
	return lease.WithClass(lease.Permanent, fmt.Errorf("use key %q: %s", key, reason))
}

// cutLast cuts a path at its last slash.
func cutLast(path string) (folder, name string, ok bool) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return ".", path, false
	}
	return path[:at], path[at+1:], true
}
