package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The README's table has every key of a backup, and the defaults of a file without them.
func TestReadmeTellsEveryKeyOfABackup(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| key of a backup | default | |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	// The defaults that it tells in words, as a value for the rpo of a day; "" is none.
	words := map[string]string{"rpo/4, at least 15m": "6h", "found by the server's version": "", "all": ""}

	backup := &Backup{}
	fields := (&reader{config: &Config{}}).backupFields(backup)
	var known, told []string
	for _, f := range fields {
		known = append(known, f.key)
	}
	file := minimal
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\| ?(.*?) ?\\| .* \\|$").FindAllStringSubmatch(table, -1) {
		keys, defaults := strings.Split(row[1], ", "), []string{row[2]}
		if len(keys) > 1 {
			defaults = strings.Split(row[2], ", ")
		}
		if len(defaults) != len(keys) {
			t.Fatalf("README.md: %d defaults for %s", len(defaults), row[1])
		}
		for i, key := range keys {
			key = strings.Trim(key, "`")
			told = append(told, key)
			at := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
			if at >= 0 && fields[at].required != (defaults[i] == "") {
				t.Errorf("README.md: %s has the default %q; that it is required is %v", key, defaults[i], fields[at].required)
			}
			value, spoken := words[defaults[i]]
			if !spoken {
				value = defaults[i]
			}
			if value != "" {
				file += "    " + key + ": " + value + "\n"
			}
		}
	}
	equal(t, told, known)

	want, err := parse(sample, []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(sample, []byte(file))
	if err != nil {
		t.Fatalf("README.md: %v in\n%s", err, file)
	}
	equal(t, got.Backups["app"], want.Backups["app"])
}
