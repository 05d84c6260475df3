package canon

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
)

// maxDepth bounds the nesting of arrays and objects, and so the stack.
const maxDepth = 128

// reader reads a JSON text once and writes its canonical form as it goes.
type reader struct {
	text  []byte
	at    int
	depth int
}

func (r *reader) document(out []byte) ([]byte, error) {
	out, err := r.value(out)
	if err != nil {
		return nil, err
	}
	if r.space(); r.at < len(r.text) {
		return nil, errors.New("text after the value")
	}
	return out, nil
}

func (r *reader) value(out []byte) ([]byte, error) {
	r.space()
	switch c := r.peek(); {
	case c == '{':
		return r.nested(out, r.object)
	case c == '[':
		return r.nested(out, r.array)
	case c == '"':
		text, err := r.string()
		if err != nil {
			return nil, err
		}
		return appendString(out, text), nil
	case c == '-' || '0' <= c && c <= '9':
		return r.number(out)
	}
	for _, word := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(r.text[r.at:], []byte(word)) {
			r.at += len(word)
			return append(out, word...), nil
		}
	}
	if r.at == len(r.text) {
		return nil, errors.New("text ends early")
	}
	return nil, fmt.Errorf("unexpected %q", r.text[r.at])
}

func (r *reader) nested(out []byte, read func([]byte) ([]byte, error)) ([]byte, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, errDepth
	}
	defer func() { r.depth-- }()
	r.at++ // the bracket
	return read(out)
}

func (r *reader) array(out []byte) ([]byte, error) {
	out = append(out, '[')
	for first := true; ; first = false {
		if first && r.take(']') {
			return append(out, ']'), nil
		}
		var err error
		if out, err = r.value(out); err != nil {
			return nil, err
		}
		if r.take(']') {
			return append(out, ']'), nil
		}
		if !r.take(',') {
			return nil, errors.New("want , or ] in array")
		}
		out = append(out, ',')
	}
}

// member is one key of an object with its value, canonical already.
type member struct {
	key   string
	units []uint16
	value []byte
}

func (r *reader) object(out []byte) ([]byte, error) {
	var members []member
	for first := true; ; first = false {
		if first && r.take('}') {
			break
		}
		if r.space(); r.peek() != '"' {
			return nil, errors.New("want a key in object")
		}
		key, err := r.string()
		if err != nil {
			return nil, err
		}
		if !r.take(':') {
			return nil, errors.New("want : after key")
		}
		value, err := r.value(nil)
		if err != nil {
			return nil, err
		}
		members = append(members, member{key, utf16.Encode([]rune(key)), value})
		if r.take('}') {
			break
		}
		if !r.take(',') {
			return nil, errors.New("want , or } in object")
		}
	}
	slices.SortFunc(members, func(a, b member) int { return slices.Compare(a.units, b.units) })
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			if m.key == members[i-1].key {
				return nil, fmt.Errorf("key %q stands twice in an object", m.key)
			}
			out = append(out, ',')
		}
		out = appendString(out, m.key)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

// number reads one number of JSON's grammar, which is narrower than what ParseFloat
// takes.
func (r *reader) number(out []byte) ([]byte, error) {
	start := r.at
	r.next('-')
	if !r.next('0') && r.digits() == 0 {
		return nil, errors.New("want a digit")
	}
	if r.next('.') && r.digits() == 0 {
		return nil, errors.New("want a digit after the point")
	}
	if r.next('e') || r.next('E') {
		if !r.next('+') {
			r.next('-')
		}
		if r.digits() == 0 {
			return nil, errors.New("want a digit in the exponent")
		}
	}
	x, err := strconv.ParseFloat(string(r.text[start:r.at]), 64)
	if err != nil {
		return nil, fmt.Errorf("number %.40s is not a finite double", r.text[start:r.at])
	}
	return appendNumber(out, x), nil
}

func (r *reader) digits() (n int) {
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.at++
		n++
	}
	return n
}

// peek is the next byte, 0 at the end; a 0 in the text is no token either.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) next(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *reader) take(c byte) bool {
	r.space()
	return r.next(c)
}

func (r *reader) space() {
	for r.at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n"), r.text[r.at]) >= 0 {
		r.at++
	}
}
