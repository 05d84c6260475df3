package canon

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

var errSurrogate = errors.New("lone surrogate")

// string reads one string of the text and undoes its escapes.
func (r *reader) string() (string, error) {
	r.at++ // the quote
	var out []byte
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return string(out), nil
		case c == '\\':
			char, err := r.escape()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, char)
		case c < 0x20:
			return "", errors.New("control character in string")
		default:
			char, size := utf8.DecodeRune(r.text[r.at:])
			if char == utf8.RuneError && size <= 1 {
				return "", errText
			}
			out = append(out, r.text[r.at:r.at+size]...)
			r.at += size
		}
	}
	return "", errors.New("string ends early")
}

func (r *reader) escape() (rune, error) {
	if r.at+1 == len(r.text) {
		return 0, errors.New("string ends early")
	}
	c := r.text[r.at+1]
	r.at += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return r.unicode()
	}
	return 0, fmt.Errorf("unknown escape %q", c)
}

// unicode reads what follows \u, and where it is the first half of a pair the
// second half too.
func (r *reader) unicode() (rune, error) {
	char, err := r.hex()
	if err != nil || !utf16.IsSurrogate(char) {
		return char, err
	}
	if !r.next('\\') || !r.next('u') {
		return 0, errSurrogate
	}
	low, err := r.hex()
	if err != nil {
		return 0, err
	}
	if char = utf16.DecodeRune(char, low); char == utf8.RuneError {
		return 0, errSurrogate
	}
	return char, nil
}

func (r *reader) hex() (rune, error) {
	if r.at+4 > len(r.text) {
		return 0, errors.New("string ends early")
	}
	unit, err := strconv.ParseUint(string(r.text[r.at:r.at+4]), 16, 16)
	if err != nil {
		return 0, errors.New("want four hex digits after \\u")
	}
	r.at += 4
	return rune(unit), nil
}

// appendString escapes exactly what ECMAScript's JSON.stringify does.
func appendString(out []byte, text string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, '\\', 'b')
		case '\t':
			out = append(out, '\\', 't')
		case '\n':
			out = append(out, '\\', 'n')
		case '\f':
			out = append(out, '\\', 'f')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			if c < 0x20 {
				out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				out = append(out, c)
			}
		}
	}
	return append(out, '"')
}
