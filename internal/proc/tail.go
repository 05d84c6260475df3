package proc

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
)

// tailSize bounds what is kept of a child's stderr, and what is shown of it.
const tailSize = 4 << 10

// tail keeps the last lines that are written to it.
type tail struct {
	secrets []string // values the child was given that must not come back

	mu   sync.Mutex // a descendant may write while the text is read
	last []byte
	cut  bool // something older was dropped
}

// newTail keeps in mind the values of the environment whose names say secret.
func newTail(env []string) *tail {
	t := &tail{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) >= 4 && secretName.MatchString(name) {
			t.secrets = append(t.secrets, value)
		}
	}
	return t
}

// Write never fails and never blocks for long: a child must not wait for its words.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if over := len(t.last) - tailSize; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// text is the tail for people: whole lines, scrubbed, printable.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last
	if t.cut {
		// The name in front of a secret may be gone with the start of the first line.
		_, last, _ = bytes.Cut(last, []byte("\n"))
		if len(last) == 0 {
			return "(a line too long to show)"
		}
	}
	text := string(last)
	for _, secret := range t.secrets {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	text = strings.Map(printable, strings.ToValidUTF8(Scrub(text), "?"))
	return strings.TrimSpace(text)
}

// printable drops what could play tricks on a terminal or on a text column.
func printable(r rune) rune {
	switch {
	case r == '\n' || unicode.IsPrint(r):
		return r
	case r == '\t':
		return ' '
	}
	return -1
}
