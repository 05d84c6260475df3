package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/heyaira/heyaira-loop/internal/proc"
)

// tell prints an error with its hint: two lines of text, or one of JSON where
// --log-format json was given. What has been told is not told again.
func (env *Env) tell(err error, status int) {
	var done told
	if errors.As(err, &done) {
		return
	}
	// The errors of every package are free of secrets; what a caller typed in the wrong
	// place may not be.
	text, hint := oneLine(proc.Scrub(err.Error())), oneLine(proc.Scrub(hintOf(err)))
	if env.logFormat == "json" {
		line, err := json.Marshal(struct {
			Error  string `json:"error"`
			Hint   string `json:"hint,omitempty"`
			Status int    `json:"status"`
		}{text, hint, status})
		if err == nil {
			fmt.Fprintf(env.Err, "%s\n", line)
		}
		return
	}
	fmt.Fprintf(env.Err, "heyaira-loop: %s\n", text)
	if hint != "" {
		fmt.Fprintf(env.Err, "hint: %s\n", hint)
	}
}

// oneLine keeps text from outside from moving the cursor or making lines of its own.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0):
			return '�'
		}
		return r
	}, text)
}
