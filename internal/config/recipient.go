package config

import (
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

// postQuantum is how recipients of age's hybrid keys begin. age refuses a file for
// these and others at once, because the others would undo what they promise.
const postQuantum = "age1pq1"

// recipients reads age recipients. No refusal repeats one: what stands in the wrong
// place may be a private key.
func recipients(into *[]string) func(value) error {
	return func(v value) error {
		items, err := v.items()
		if err != nil {
			return err
		}
		for _, item := range items {
			text, err := item.text()
			if err != nil {
				return err
			}
			if err := checkRecipient(item, text); err != nil {
				return err
			}
			if slices.Contains(*into, text) {
				return item.refuse("the recipient stands here a second time", "")
			}
			if len(*into) > 0 && strings.HasPrefix((*into)[0], postQuantum) != strings.HasPrefix(text, postQuantum) {
				return item.refuse("recipients with and without age1pq1 do not mix", "use age1pq1 recipients only, or none of them")
			}
			*into = append(*into, text)
		}
		return nil
	}
}

func checkRecipient(v value, text string) error {
	upper := strings.ToUpper(text)
	if strings.Contains(upper, "AGE-SECRET-KEY-") || strings.Contains(upper, "PRIVATE KEY") {
		return v.refuse("this is a private key, not a recipient",
			"take it out and make a new key (age-keygen -o FILE): the recipient is the public half, age-keygen -y FILE prints it")
	}
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "~") {
		return v.refuse("this is a path, not a recipient", "write the recipient itself: age-keygen -y FILE prints it")
	}
	var err error
	switch {
	case strings.HasPrefix(text, "ssh-"):
		_, err = agessh.ParseRecipient(text)
	case strings.HasPrefix(text, postQuantum):
		_, err = age.ParseHybridRecipient(text)
	default:
		_, err = age.ParseX25519Recipient(text)
	}
	if err != nil {
		return v.refuse("not an age recipient", "want age1…, age1pq1…, ssh-ed25519 … or ssh-rsa …: age-keygen -y FILE prints a key's recipient")
	}
	return nil
}
