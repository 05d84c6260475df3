package backup

import (
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"

	"github.com/heyaira/heyaira-loop/lease"
)

// parseRecipients reads age recipients (age1…, age1pq1…, ssh-ed25519 …, ssh-rsa …) and
// answers their fingerprints in the same order. No error repeats a recipient's text:
// it may be a private key in the wrong place. They are permanent.
func parseRecipients(texts []string) ([]age.Recipient, []string, error) {
	if len(texts) == 0 {
		return nil, nil, lease.WithClass(lease.Permanent, errors.New("parse recipients: none given"))
	}
	recipients := make([]age.Recipient, len(texts))
	fingerprints := make([]string, len(texts))
	for i, text := range texts {
		recipient, err := parseRecipient(strings.TrimSpace(text))
		if err != nil {
			err = fmt.Errorf("parse recipients: number %d is not an age recipient", i+1)
			return nil, nil, lease.WithClass(lease.Permanent, advise(err, "age-keygen -y FILE prints the recipient of a key"))
		}
		recipients[i], fingerprints[i] = recipient, fingerprint(text)
	}
	return recipients, fingerprints, nil
}

func parseRecipient(text string) (age.Recipient, error) {
	switch {
	case strings.HasPrefix(text, "ssh-"):
		return agessh.ParseRecipient(text)
	case strings.HasPrefix(text, "age1pq1"):
		return age.ParseHybridRecipient(text)
	}
	return age.ParseX25519Recipient(text)
}

// fingerprint is the SHA-256 of a recipient's text, without the comment that may
// follow an ssh key.
func fingerprint(text string) string {
	fields := strings.Fields(text)
	if len(fields) > 2 && strings.HasPrefix(fields[0], "ssh-") {
		fields = fields[:2]
	}
	return hexSum([]byte(strings.Join(fields, " ")))
}
