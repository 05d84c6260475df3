package config

import (
	"strings"
	"testing"

	"filippo.io/age"
)

func TestRecipientsOfEveryKind(t *testing.T) {
	t.Parallel()
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	quantum := hybrid.Recipient().String()
	for list, want := range map[string]string{
		recipientA + ", " + recipientS:          "",
		quantum:                                 "",
		recipientA + ", " + quantum:             "backups.app.recipients[1]: recipients with and without age1pq1 do not mix",
		quantum + ", " + recipientS:             "backups.app.recipients[1]: recipients with and without age1pq1 do not mix",
		quantum + "x":                           "backups.app.recipients[0]: not an age recipient",
		"ssh-ed25519 AAAA":                      "backups.app.recipients[0]: not an age recipient",
		recipientA + ", age1yubikey1qwertyuiop": "backups.app.recipients[1]: not an age recipient",
	} {
		_, err := parse(sample, []byte(strings.Replace(minimal, recipientA, list, 1)))
		switch {
		case want == "" && err != nil:
			t.Errorf("%.40s…: %v", list, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.40s…: got %v, want %s", list, err, want)
		}
	}
}
