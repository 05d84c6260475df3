package config

import (
	"os"
	"regexp"
	"testing"
)

const examplePath = "../../testdata/config.example.yaml"

func readExample(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(examplePath)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestExampleIsAccepted(t *testing.T) {
	t.Parallel()
	got, err := parse("/etc/heyaira-loop/config.yaml", readExample(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Backups["app"].Recipients) != 2 || got.Ledger.Service != "heyaira-ledger" {
		t.Errorf("example read as %+v", got)
	}
}

// The values that the example calls defaults are those of a file without them.
func TestExampleShowsTheDefaults(t *testing.T) {
	t.Parallel()
	example, err := parse("/etc/heyaira-loop/config.yaml", readExample(t))
	if err != nil {
		t.Fatal(err)
	}
	shown := example.Backups["app"]
	want := defaultBackup("app")
	want.settle()
	want.Service, want.Store, want.Recipients = shown.Service, shown.Store, shown.Recipients
	shown.PgBin, shown.Hosts = "", nil
	equal(t, shown, want)
	equal(t, example.Types[BackupType], defaultType())
}

func TestExampleNamesEveryKey(t *testing.T) {
	t.Parallel()
	text := readExample(t)
	r := &reader{config: &Config{Types: map[string]Type{}}}
	tables := map[string][]field{
		"":       r.rootFields(),
		"ledger": r.ledgerFields(&where{}),
		"store":  r.storeFields(&Store{}),
		"backup": r.backupFields(&Backup{}),
		"types":  r.typesFields(),
		"type":   (&Type{}).fields(),
	}
	for table, fields := range tables {
		for _, f := range fields {
			// The ledger's three keys exclude each other: two of them are comments.
			if !regexp.MustCompile(`(?m)^ *(# )?` + regexp.QuoteMeta(f.key) + `:`).Match(text) {
				t.Errorf("%s key %s does not stand in %s", table, f.key, examplePath)
			}
		}
	}
}
