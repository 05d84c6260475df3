package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// value is one node of the file.
type value struct {
	where
	node ast.Node // nil: nothing given
}

// where is the way to a key or a value.
type where struct {
	file string
	keys string // backups.app.rpo
	at   place
}

// place counts from 1.
type place struct{ line, column int }

// field is one key that a mapping may have.
type field struct {
	key      string
	required bool
	read     func(value) error
}

func (w where) refuse(problem, advice string) error {
	return &Error{Path: w.file, Line: w.at.line, Column: w.at.column, Key: w.keys, Problem: problem, Advice: advice}
}

// under is the value of one key of v.
func (v value) under(key string, node ast.Node, at place) value {
	keys := shown(key)
	if v.keys != "" {
		keys = v.keys + "." + keys
	}
	return value{where{v.file, keys, at}, node}
}

// mapping reads the keys of v by the table of the keys that may stand there, in the
// file's order.
func (v value) mapping(fields []field) error {
	given := make(map[string]bool)
	err := v.entries(func(key string, at where, inner value) error {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if i < 0 {
			return at.refuse(unknownKey(key), adviceFor(key, fields))
		}
		given[key] = true
		return fields[i].read(inner)
	})
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.required && !given[f.key] {
			return v.refuse("the key "+f.key+" is missing", "")
		}
	}
	return nil
}

// entries calls do for each key of a mapping: the key's own place for refusals of
// the key, and the value under it.
func (v value) entries(do func(key string, at where, inner value) error) error {
	mapping, ok := v.node.(*ast.MappingNode)
	if !ok {
		return v.wrongType("a mapping")
	}
	given := make(map[string]bool)
	for _, entry := range mapping.Values {
		at := where{v.file, v.keys, placeOf(entry.Key)}
		key, ok := entry.Key.(*ast.StringNode)
		if !ok {
			if _, merge := entry.Key.(*ast.MergeKeyNode); merge {
				return at.refuse("a merge key is not accepted", "write the keys out")
			}
			return at.refuse("want a plain word as a key", "")
		}
		if given[key.Value] {
			return at.refuse("the key "+shown(key.Value)+" stands here a second time", "")
		}
		given[key.Value] = true
		inner := v.under(key.Value, entry.Value, placeOf(entry.Value))
		if _, mapping := entry.Value.(*ast.MappingNode); mapping {
			// A mapping's own place is that of its first colon.
			inner.at = at.at
		}
		if err := do(key.Value, at, inner); err != nil {
			return err
		}
	}
	return nil
}

// items are the values of a list; an empty one is refused.
func (v value) items() ([]value, error) {
	list, ok := v.node.(*ast.SequenceNode)
	if !ok {
		return nil, v.wrongType("a list")
	}
	if len(list.Values) == 0 {
		return nil, v.refuse("the list is empty", "")
	}
	items := make([]value, 0, len(list.Values))
	for i, node := range list.Values {
		items = append(items, value{where{v.file, fmt.Sprintf("%s[%d]", v.keys, i), placeOf(node)}, node})
	}
	return items, nil
}

func (v value) wrongType(want string) error {
	switch v.node.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		return v.refuse("anchors and aliases are not accepted", "write the value out")
	case *ast.TagNode:
		return v.refuse("tags are not accepted", "write the value without its tag")
	}
	return v.refuse("want "+want+", not "+kind(v.node), "")
}

// kind names a node's type for people.
func kind(node ast.Node) string {
	switch node.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.StringNode:
		return "text"
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	return "this"
}

func placeOf(node ast.Node) place {
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return place{1, 1}
	}
	at := node.GetToken().Position
	return place{at.Line, at.Column}
}

// shown is a key or a name as a refusal may repeat it; anything but a plain word could
// be a secret that slipped.
func shown(key string) string {
	if wordOf(key, 63, "._-", isLetter) && key[0] != '.' {
		return key
	}
	return "(not a plain word)"
}

func unknownKey(key string) string { return "unknown key " + shown(key) }

// adviceFor tells where a secret belongs, or the key that was probably meant.
func adviceFor(key string, fields []field) string {
	has := func(name string) bool {
		return slices.ContainsFunc(fields, func(f field) bool { return f.key == name })
	}
	secret := strings.Contains(key, "://") || slices.Contains([]string{
		"url", "uri", "dsn", "conninfo", "database_url", "connection", "password", "passwd", "passfile", "host", "port", "user", "dbname", "database",
	}, strings.ToLower(key))
	switch {
	case secret && has("url_env"):
		return "a conninfo never stands in the file: name it with service, url_env or url_file"
	case secret && has("service"):
		return "a conninfo never stands in the file: name a libpq service (pg_service.conf), its password in ~/.pgpass"
	}
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.key)
	}
	if near := Nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "known here: " + strings.Join(names, ", ")
}
