package config

import (
	"path/filepath"
	"strings"
)

// Source says where the ledger's conninfo is found. Exactly one of its fields is set.
type Source struct {
	Service string // a libpq service
	URLEnv  string // the name of an environment variable
	URLFile string // a file whose first line it is

	at where
}

// Conninfo answers what the source leads to. The answer may hold a password and
// belongs neither into a log nor into an argument list.
func (s Source) Conninfo(env func(string) string) (string, error) {
	switch {
	case s.URLEnv != "":
		text := env(s.URLEnv)
		if text == "" {
			return "", s.at.refuse("the environment variable "+s.URLEnv+" is not set", "export "+s.URLEnv+"=… before the command, or name a libpq service")
		}
		return text, nil
	case s.URLFile != "":
		text, err := readTrusted(s.URLFile, 0o007)
		if err != nil {
			return "", err
		}
		line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		if line = strings.TrimSpace(line); line == "" {
			return "", s.at.refuse("the file it names is empty", "")
		}
		return line, nil
	}
	return "service=" + s.Service, nil
}

func (r *reader) ledger(v value) error {
	at := v.where
	if err := v.mapping(r.ledgerFields(&at)); err != nil {
		return err
	}
	source := &r.config.Ledger
	given := 0
	for _, text := range []string{source.Service, source.URLEnv, source.URLFile} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return v.refuse("want exactly one of service, url_env and url_file", "")
	}
	source.at = at
	return nil
}

// ledgerFields leave in at where the value stands.
func (r *reader) ledgerFields(at *where) []field {
	source := &r.config.Ledger
	keep := func(read func(value) error) func(value) error {
		return func(v value) error {
			*at = v.where
			return read(v)
		}
	}
	return []field{
		{key: "service", read: keep(service(&source.Service))},
		{key: "url_env", read: keep(variable(&source.URLEnv))},
		{key: "url_file", read: keep(r.file(&source.URLFile))},
	}
}

// file reads a path; a relative one is relative to the configuration file.
func (r *reader) file(into *string) func(value) error {
	return func(v value) error {
		text, err := v.text()
		if err != nil {
			return err
		}
		if strings.Contains(text, "://") {
			return v.refuse("want a path, not a URL", "")
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(r.config.Path), text)
		}
		*into = filepath.Clean(text)
		return nil
	}
}
