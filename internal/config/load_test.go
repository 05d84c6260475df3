package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	recipientA = "age13sdgzv56hkf0w4e7r995tgv5tnhut9p2xey3g4tdzj8h6ye3xatqter0rp"
	recipientS = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBNLp2ZGMsMrRNN9/lIhXki3FMx9l92BpafgMAY+/9hy ops@example.org"
	sample     = "/etc/heyaira-loop/config.yaml"
)

// minimal has only what is required.
const minimal = `environment: test
ledger:
  service: ledger
stores:
  local:
    type: dir
    path: store
backups:
  app:
    service: app
    store: local
    recipients: [` + recipientA + `]
`

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	got, err := parse(sample, []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got.Environment, "test")
	equal(t, got.Beat, time.Duration(0))
	equal(t, got.Stores["local"], Store{Name: "local", Type: "dir", Path: "/etc/heyaira-loop/store"})
	equal(t, got.Backups["app"], Backup{
		Name: "app", Service: "app", Store: "local", Recipients: []string{recipientA},
		RPO: 24 * time.Hour, MinInterval: 6 * time.Hour, Lease: 10 * time.Minute, Timeout: 12 * time.Hour,
		Stall: 10 * time.Minute, Attempts: 5, Compression: 3, Verify: "hash",
	})
	equal(t, got.Types, map[string]Type{BackupType: {MaxRunning: 4, MaxRunningPerHost: 1, BlockedWait: 15 * time.Minute}})
}

func TestMinIntervalFollowsRPO(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]time.Duration{
		"    rpo: 100h\n":                        25 * time.Hour,
		"    rpo: 30m\n":                         15 * time.Minute,
		"    min_interval: 0s\n":                 0,
		"    rpo: 2h\n    min_interval: 1m30s\n": 90 * time.Second,
	} {
		got, err := parse(sample, []byte(minimal+lines))
		if err != nil {
			t.Fatal(err)
		}
		if got := got.Backups["app"].MinInterval; got != want {
			t.Errorf("%q gives min_interval %s, want %s", lines, got, want)
		}
	}
}

// Stores may stand below the backups that name them, a file may begin with a
// byte order mark or a document mark, and lines may end in CR LF.
func TestShapesOfAFile(t *testing.T) {
	t.Parallel()
	top, rest, _ := strings.Cut(minimal, "stores:\n")
	stores, backups, _ := strings.Cut(rest, "backups:\n")
	for name, text := range map[string]string{
		"stores last":   top + "backups:\n" + backups + "stores:\n" + stores,
		"mark":          "\ufeff" + minimal,
		"document mark": "# a comment\n---\n" + minimal,
		"end mark":      minimal + "---\n# nothing more\n",
		"crlf":          strings.ReplaceAll(minimal, "\n", "\r\n"),
	} {
		got, err := parse(sample, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		equal(t, got.Backups["app"].Store, "local")
	}
}

// refusals are files that are not accepted, each with the place that the refusal
// names. The text is put below the minimal file where it begins with a blank, else it
// is the file.
func TestRefusals(t *testing.T) {
	t.Parallel()
	swap := func(old, new string) string {
		if !strings.Contains(minimal, old) {
			t.Fatalf("the minimal file has no %q", old)
		}
		return strings.Replace(minimal, old, new, 1)
	}
	for name, test := range map[string]struct{ text, want, hint string }{
		"empty":                    {"", ":1:1: the file is empty", ""},
		"only comments":            {"# nothing\n", ":1:1: the file is empty", ""},
		"not a mapping":            {"- a\n", ":1:1: want a mapping, not a list", ""},
		"not YAML":                 {"a: 'x\n", ":1:4: not YAML: could not find end character", ""},
		"not UTF-8":                {"a: \xff\n", ":1:1: the file is not UTF-8", ""},
		"two documents":            {minimal + "---\na: 1\n", ":14:1: a second document begins here", "one document"},
		"directive":                {"%YAML 1.2\n---\n" + minimal, ":1:1: directives are not accepted", ""},
		"unknown key":              {minimal + "retention: {}\n", ":13:1: unknown key retention", "known here: environment, ledger"},
		"near key":                 {swap("stores:", "stors:"), ":4:1: unknown key stors", "did you mean stores?"},
		"unknown key of a backup":  {minimal + "    max_age: 24h\n", ":13:5: backups.app: unknown key max_age", "known here: service, store"},
		"near key of a backup":     {minimal + "    timout: 1h\n", ":13:5: backups.app: unknown key timout", "did you mean timeout?"},
		"key twice":                {minimal + "    store: local\n", ":13:5: backups.app: the key store stands here a second time", ""},
		"key is a number":          {minimal + "1: x\n", ":13:1: want a plain word as a key", ""},
		"anchor":                   {swap("service: app", "service: &a app"), ":10:14: backups.app.service: anchors and aliases are not accepted", "write the value out"},
		"alias":                    {swap("store: local", "store: *a"), "backups.app.store: anchors and aliases", ""},
		"merge":                    {minimal + "    <<: {rpo: 1h}\n", ":13:5: backups.app: a merge key is not accepted", "write the keys out"},
		"tag":                      {swap("store: local", "store: !!str local"), ":11:12: backups.app.store: tags are not accepted", ""},
		"missing environment":      {swap("environment: test\n", ""), ":1:1: the key environment is missing", ""},
		"missing ledger":           {swap("ledger:\n  service: ledger\n", ""), ":1:1: the key ledger is missing", ""},
		"missing recipients":       {swap("    recipients: ["+recipientA+"]\n", ""), ":9:3: backups.app: the key recipients is missing", ""},
		"nothing":                  {swap("environment: test", "environment:"), ":1:13: environment: want text, not nothing", ""},
		"number for text":          {swap("environment: test", "environment: 5"), ":1:14: environment: want text, not a number", ""},
		"bool for text":            {swap("environment: test", "environment: true"), ":1:14: environment: want text, not true or false", ""},
		"block of text":            {swap("environment: test", "environment: |\n  test"), "environment: want text, not a block of text", ""},
		"control character":        {swap("service: app", `service: "a\nb"`), ":10:14: backups.app.service: the text holds a control character", ""},
		"text for a mapping":       {swap("ledger:\n  service: ledger\n", "ledger: service\n"), ":2:9: ledger: want a mapping, not text", ""},
		"text for a list":          {swap("["+recipientA+"]", recipientA), ":12:17: backups.app.recipients: want a list, not text", ""},
		"number for a duration":    {minimal + "    rpo: 24\n", ":13:10: backups.app.rpo: want a duration such as 24h or 90m, not a number", ""},
		"zero for a duration":      {minimal + "    min_interval: 0\n", ":13:19: backups.app.min_interval: want a duration such as 24h or 90m, not a number", ""},
		"days":                     {minimal + "    rpo: 1d\n", ":13:10: backups.app.rpo: want a duration", "days are written in hours"},
		"nonsense duration":        {minimal + "    rpo: soon\n", ":13:10: backups.app.rpo: want a duration", "the units are"},
		"negative duration":        {minimal + "    min_interval: -1ns\n", ":13:19: backups.app.min_interval: want a duration from 0s to 87600h", ""},
		"short lease":              {minimal + "    lease: 9s\n", ":13:12: backups.app.lease: want a duration from 10s to 24h", ""},
		"text for a number":        {minimal + "    attempts: \"5\"\n", ":13:15: backups.app.attempts: want a whole number, not text", ""},
		"fraction":                 {minimal + "    attempts: 1.5\n", ":13:15: backups.app.attempts: want a whole number, not a number", ""},
		"none":                     {minimal + "    attempts: 0\n", ":13:15: backups.app.attempts: want a whole number from 1 to 1000", ""},
		"negative":                 {minimal + "    attempts: -3\n", ":13:15: backups.app.attempts: want a whole number from 1 to 1000", ""},
		"huge":                     {minimal + "    attempts: 18446744073709551615\n", ":13:15: backups.app.attempts: want a whole number from 1 to 1000", ""},
		"compression":              {minimal + "    compression: 20\n", ":13:18: backups.app.compression: want a whole number from 1 to 19", ""},
		"verify":                   {minimal + "    verify: hsh\n", ":13:13: backups.app.verify: want size or hash", "did you mean hash?"},
		"store type":               {swap("type: dir", "type: s3"), ":6:11: stores.local.type: want dir", ""},
		"the ledger is protected":  {swap("service: app", "service: ledger"), ":10:14: backups.app.service: this is the ledger's own database", "elsewhere"},
		"unknown store":            {swap("store: local", "store: lokal"), ":11:12: backups.app.store: unknown store lokal", "did you mean local?"},
		"unknown work type":        {minimal + "types:\n  heyaira-bakup:\n    max_running: 1\n", ":14:3: types: unknown key heyaira-bakup", "did you mean heyaira-backup?"},
		"type's cap":               {minimal + "types:\n  heyaira-backup:\n    max_running: 0\n", ":15:18: types.heyaira-backup.max_running: want a whole number from 1 to 10000", ""},
		"name":                     {swap("  app:", "  App:"), ":9:3: backups: the name App is not accepted", "a-z, 0-9"},
		"name that leaves":         {swap("  app:", "  ../app:"), ":9:3: backups: the name (not a plain word) is not accepted", "a-z, 0-9"},
		"reserved name":            {swap("  app:", "  heyaira-app:"), ":9:3: backups: the name heyaira-app is not accepted", "reserved"},
		"name twice":               {swap("  app:", "  local:"), ":9:3: backups: the name local stands under stores too", "unique"},
		"hosts":                    {minimal + "    hosts: [db1, 'db1:5432']\n", ":13:18: backups.app.hosts[1]: want a host's name", ""},
		"host twice":               {minimal + "    hosts: [db1, db1]\n", ":13:18: backups.app.hosts[1]: the host stands here a second time", ""},
		"empty list":               {swap("["+recipientA+"]", "[]"), ":12:17: backups.app.recipients: the list is empty", ""},
		"malformed recipient":      {swap(recipientA, recipientA+"x"), ":12:18: backups.app.recipients[0]: not an age recipient", "age-keygen -y"},
		"malformed ssh recipient":  {swap(recipientA, "ssh-ed25519 AAAA"), ":12:18: backups.app.recipients[0]: not an age recipient", ""},
		"recipient is a file":      {swap(recipientA, "/etc/age.key"), ":12:18: backups.app.recipients[0]: this is a path, not a recipient", ""},
		"recipient twice":          {swap(recipientA, recipientA+", "+recipientA), ":12:82: backups.app.recipients[1]: the recipient stands here a second time", ""},
		"ledger without a source":  {swap("  service: ledger", "  {}"), "ledger: want exactly one of service, url_env and url_file", ""},
		"ledger with two sources":  {swap("  service: ledger", "  service: ledger\n  url_env: X"), ":2:1: ledger: want exactly one of service, url_env and url_file", ""},
		"variable's name":          {swap("  service: ledger", "  url_env: NOT A NAME"), ":3:12: ledger.url_env: want the name of an environment variable", ""},
		"url as a key":             {swap("  service: ledger", "  url: x"), ":3:3: ledger: unknown key url", "service, url_env or url_file"},
		"password as a key":        {minimal + "    password: x\n", ":13:5: backups.app: unknown key password", "~/.pgpass"},
		"file of the ledger's URL": {swap("  service: ledger", "  url_file: https://x"), ":3:13: ledger.url_file: want a path, not a URL", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(sample, []byte(test.text))
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if got := err.Error(); !strings.Contains(got, test.want) || !strings.HasPrefix(got, "read config "+sample+":") {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if !strings.Contains(refusal.Hint(), test.hint) {
				t.Errorf("hint %q, want %q in it", refusal.Hint(), test.hint)
			}
			if refusal.Line == 0 || refusal.Column == 0 {
				t.Errorf("no place in %s", err)
			}
		})
	}
}

// A secret in the wrong place is refused and never repeated, wherever it stands.
func TestRefusalsRepeatNoSecret(t *testing.T) {
	t.Parallel()
	const key = "AGE-SECRET-KEY-1QQPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQCANARY"
	const url = "postgres://u:canary@h/db"
	places := []string{"environment: %s", "ledger: {service: %s}", "ledger: {url_env: %s}", "ledger: {url_file: %s}", "ledger: {%s: 1}", "%s: 1", "beat: %s", "beat: \"%s", "stores: {%s: {}}", "types: {%s: {}}"}
	for _, key := range []string{"service", "store", "rpo", "attempts", "verify", "hosts"} {
		places = append(places, minimal+"  b:\n    "+key+": %s\n", minimal+"  b:\n    "+key+": ['%s', 1]\n")
	}
	places = append(places, minimal+"  b:\n    recipients: ['%s']\n", minimal+"  b:\n    service: b\n    recipients: ["+recipientA+"]\n    store: '%s'\n", minimal+"  b:\n    '%s': 1\n", minimal+"'%[1]s': 1\n'%[1]s': 1\n")
	for _, place := range places {
		for _, secret := range []string{key, strings.ToLower(key), url, "-----BEGIN OPENSSH PRIVATE KEY----- canary"} {
			_, err := parse(sample, []byte(fmt.Sprintf(place, secret)))
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Errorf("%s was accepted: %v", place, err)
				continue
			}
			if told := strings.ToLower(err.Error() + refusal.Hint()); strings.Contains(told, "canary") {
				t.Errorf("a refusal repeats the secret: %s", told)
			}
		}
	}
}

func TestPrivateKeyAsRecipient(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"AGE-SECRET-KEY-1QQ", "age-secret-key-pq-1qq", "-----BEGIN OPENSSH PRIVATE KEY-----"} {
		_, err := parse(sample, []byte(strings.Replace(minimal, recipientA, "'"+key+"'", 1)))
		if err == nil || !strings.Contains(err.Error(), ":12:18: backups.app.recipients[0]: this is a private key") {
			t.Errorf("got %v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("a: &x [1, *x]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := parse(sample, text)
		var refusal *Error
		if err != nil && (!errors.As(err, &refusal) || refusal.Line == 0 || refusal.Column == 0) {
			t.Errorf("refusal without a place: %v", err)
		}
	})
}
