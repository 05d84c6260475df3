package config

import (
	"bytes"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Load reads and checks the whole file. Every error is an *Error.
func Load(path string) (*Config, error) {
	text, err := readTrusted(path, 0)
	if err != nil {
		return nil, err
	}
	return parse(path, text)
}

// reader fills a Config and keeps what can only be checked at the end.
type reader struct {
	config   *Config
	names    map[string]string // name → section
	stores   []value           // where stores are named; they may follow later in the file
	services []value           // where backups name their databases; so may the ledger
}

func parse(path string, text []byte) (*Config, error) {
	root, err := document(path, text)
	if err != nil {
		return nil, err
	}
	r := &reader{
		config: &Config{
			Path:    path,
			Stores:  make(map[string]Store),
			Backups: make(map[string]Backup),
			Types:   map[string]Type{BackupType: defaultType()},
		},
		names: make(map[string]string),
	}
	if err := root.mapping(r.rootFields()); err != nil {
		return nil, err
	}
	return r.config, r.references()
}

// document parses the text and answers its one mapping.
func document(path string, text []byte) (value, error) {
	root := value{where: where{file: path, at: place{1, 1}}}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return root, root.refuse("the file is not UTF-8", "")
	}
	// Doubled keys are refused by mapping, which names the keys that lead there.
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return root, syntax(path, err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		at := where{file: path, at: placeOf(doc.Body)}
		if mapping, ok := doc.Body.(*ast.MappingNode); ok && len(mapping.Values) > 0 {
			at.at = placeOf(mapping.Values[0].Key)
		}
		if _, ok := doc.Body.(*ast.DirectiveNode); ok {
			return root, at.refuse("directives are not accepted", "")
		}
		if root.node != nil {
			return root, at.refuse("a second document begins here", "keep one document in the file")
		}
		root.node = doc.Body
	}
	if root.node == nil {
		return root, root.refuse("the file is empty", "")
	}
	return root, nil
}

// syntax keeps the parser's message and place, and drops the lines of the file that
// it quotes.
func syntax(path string, err error) error {
	refusal := &Error{Path: path, Line: 1, Column: 1, Problem: "not YAML"}
	var detail yaml.Error
	if errors.As(err, &detail) {
		if token := detail.GetToken(); token != nil && token.Position != nil {
			refusal.Line, refusal.Column = token.Position.Line, token.Position.Column
		}
		// "token" is the parser's word; a reader would look for a secret.
		if message := strings.ReplaceAll(detail.GetMessage(), " token", ""); !strings.ContainsAny(message, "\"`") {
			refusal.Problem += ": " + message
		}
	}
	return refusal
}

func (r *reader) rootFields() []field {
	return []field{
		{key: "environment", required: true, read: label(&r.config.Environment)},
		{key: "ledger", required: true, read: r.ledger},
		{key: "beat", read: duration(&r.config.Beat, time.Second, 24*time.Hour)},
		{key: "stores", read: r.named("stores", r.store)},
		{key: "backups", read: r.named("backups", r.backup)},
		{key: "types", read: func(v value) error { return v.mapping(r.typesFields()) }},
	}
}

// named reads a section whose keys are names that the operator gives.
func (r *reader) named(section string, read func(name string, v value) error) func(value) error {
	return func(v value) error {
		return v.entries(func(name string, at where, inner value) error {
			if !isName(name) {
				return at.refuse("the name "+shown(name)+" is not accepted", nameForm)
			}
			if strings.HasPrefix(name, "heyaira-") {
				return at.refuse("the name "+name+" is not accepted", "heyaira- is reserved")
			}
			if other, taken := r.names[name]; taken {
				return at.refuse("the name "+name+" stands under "+other+" too", "names are unique in the whole file")
			}
			r.names[name] = section
			return read(name, inner)
		})
	}
}

// references checks what depends on another part of the file.
func (r *reader) references() error {
	for _, v := range r.services {
		if name, err := v.text(); err == nil && name == r.config.Ledger.Service {
			return v.refuse("this is the ledger's own database", "a database that is lost must not take its ledger along: keep the ledger elsewhere")
		}
	}
	for _, v := range r.stores {
		name, err := v.text()
		if err != nil {
			return err
		}
		if _, ok := r.config.Stores[name]; ok {
			continue
		}
		known := make([]string, 0, len(r.config.Stores))
		for store := range r.config.Stores {
			known = append(known, store)
		}
		advice := "name one that stands under stores"
		if near := Nearest(name, known); near != "" {
			advice = "did you mean " + near + "?"
		}
		return v.refuse("unknown store "+shown(name), advice)
	}
	return nil
}

func (r *reader) typesFields() []field {
	policy := r.config.Types[BackupType]
	return []field{{key: BackupType, read: func(v value) error {
		err := v.mapping(policy.fields())
		r.config.Types[BackupType] = policy
		return err
	}}}
}

func (t *Type) fields() []field {
	return []field{
		{key: "max_running", read: integer(&t.MaxRunning, 1, 10000)},
		{key: "max_running_per_host", read: integer(&t.MaxRunningPerHost, 1, 10000)},
		{key: "blocked_wait", read: duration(&t.BlockedWait, time.Second, 24*time.Hour)},
	}
}
