package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml/ast"
)

// The forms of text, as functions: a pattern with a bounded length costs every start of
// the program more than all else in this package.

// isName tells whether text is a name: it ends up in keys of stores and in paths.
func isName(text string) bool {
	return wordOf(text, 63, "._-", isLower) && (isLower(text[0]) || isDigit(text[0]))
}

func isService(text string) bool {
	return wordOf(text, 63, "._-", isLetter) && text[0] != '.' && text[0] != '-'
}

func isVariable(text string) bool {
	return wordOf(text, 255, "_", isLetter) && !isDigit(text[0])
}

// wordOf tells whether text has 1 to most bytes, each a letter, a digit or one of extra.
func wordOf(text string, most int, extra string, letter func(byte) bool) bool {
	for i := range len(text) {
		if c := text[i]; !letter(c) && !isDigit(c) && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return text != "" && len(text) <= most
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isLetter(c byte) bool { return isLower(c) || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

const nameForm = "a-z, 0-9, dot, underscore and hyphen, at most 63, a letter or digit first"

// text is one line of text as it stands; nothing else is turned into text.
func (v value) text() (string, error) {
	node, ok := v.node.(*ast.StringNode)
	if !ok {
		return "", v.wrongType("text")
	}
	if node.Value == "" {
		return "", v.refuse("the text is empty", "")
	}
	if strings.ContainsFunc(node.Value, unicode.IsControl) {
		return "", v.refuse("the text holds a control character", "")
	}
	return node.Value, nil
}

// matching reads text of one form. The refusal does not repeat it.
func matching(into *string, form func(string) bool, want, advice string) func(value) error {
	return func(v value) error {
		text, err := v.text()
		if err != nil {
			return err
		}
		if !form(text) {
			return v.refuse("want "+want, advice)
		}
		*into = text
		return nil
	}
}

func service(into *string) func(value) error {
	return matching(into, isService, "the name of a libpq service",
		"put the connection into pg_service.conf and its password into ~/.pgpass, and name the section here")
}

func variable(into *string) func(value) error {
	return matching(into, isVariable, "the name of an environment variable",
		"put the conninfo into a variable and name it here")
}

func label(into *string) func(value) error {
	return matching(into, isName, "a name", nameForm)
}

// oneOf reads one of a few words.
func oneOf(into *string, words ...string) func(value) error {
	return func(v value) error {
		text, err := v.text()
		if err != nil {
			return err
		}
		if !slices.Contains(words, text) {
			advice := ""
			if near := Nearest(text, words); near != "" {
				advice = "did you mean " + near + "?"
			}
			return v.refuse("want "+strings.Join(words, " or "), advice)
		}
		*into = text
		return nil
	}
}

// duration reads a Go duration between two bounds, both included.
func duration(into *time.Duration, least, most time.Duration) func(value) error {
	return func(v value) error {
		node, ok := v.node.(*ast.StringNode)
		if !ok {
			return v.wrongType("a duration such as 24h or 90m")
		}
		d, err := time.ParseDuration(node.Value)
		if err != nil {
			advice := "the units are h, m, s and ms: 24h, 90m, 1h30m"
			if strings.HasSuffix(node.Value, "d") {
				advice = "days are written in hours: 24h"
			}
			return v.refuse("want a duration", advice)
		}
		if d < least || d > most {
			return v.refuse(fmt.Sprintf("want a duration from %s to %s", short(least), short(most)), "")
		}
		*into = d
		return nil
	}
}

// short writes 24h0m0s as 24h.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// integer reads a whole number between two bounds, both included.
func integer(into *int, least, most int) func(value) error {
	return func(v value) error {
		node, ok := v.node.(*ast.IntegerNode)
		if !ok {
			return v.wrongType("a whole number")
		}
		wrong := v.refuse(fmt.Sprintf("want a whole number from %d to %d", least, most), "")
		var n int
		switch number := node.Value.(type) {
		case int64:
			n = int(number)
		case uint64:
			if number > uint64(most) {
				return wrong
			}
			n = int(number)
		}
		if n < least || n > most {
			return wrong
		}
		*into = n
		return nil
	}
}
