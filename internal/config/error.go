package config

import (
	"fmt"
	"strings"
)

// Error is a refusal of the configuration, with the place to look at. Line and
// Column count from 1 and are 0 where the file as a whole is meant. It repeats no
// value of the file.
type Error struct {
	Path    string // the file, "" before one is found
	Line    int
	Column  int
	Key     string // the keys that lead there: backups.app.rpo
	Problem string
	Advice  string // what to do, "" where the problem says it
}

// Error is "read config FILE:LINE:COLUMN: KEY: PROBLEM".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("read config")
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Key != "" {
		b.WriteString(": " + e.Key)
	}
	return b.String() + ": " + e.Problem
}

// Hint is what to do about it.
func (e *Error) Hint() string { return e.Advice }
