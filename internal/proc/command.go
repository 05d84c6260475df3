package proc

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// defaultGrace lies between SIGTERM and SIGKILL.
const defaultGrace = 5 * time.Second

// Command says what to run.
type Command struct {
	Name   string        // what errors call it; empty: the last part of Path
	Path   string        // a path, or a name that is looked up in PATH
	Args   []string      // without the program itself; never a secret
	Env    []string      // NAME=value, added to Environ
	Dir    string        // empty: this process's
	Stdin  io.Reader     // nil: empty. A read error kills the child before it could take it for the end
	Stdout io.Writer     // of Run; nil: thrown away
	Grace  time.Duration // between SIGTERM and SIGKILL; 0: 5 s
}

// Environ is what a child may know of this process's environment (design §5: PATH,
// HOME, LANG, LC_*, TZ, SSL_CERT_*), and extra, which wins.
func Environ(extra ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if allowed(name) {
			env = append(env, entry)
		}
	}
	return append(env, extra...)
}

func allowed(name string) bool {
	switch name {
	case "PATH", "HOME", "LANG", "TZ":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "SSL_CERT_")
}

func (c Command) name() string {
	if c.Name != "" {
		return c.Name
	}
	return filepath.Base(c.Path)
}

func (c Command) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return defaultGrace
}
