package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"
)

// identityLimit bounds a file of identities, in bytes.
const identityLimit = 1 << 20

// ReadIdentities reads private keys from a file, or from stdin where path is "-": age
// identities, one a line, or one ssh private key. Keys behind a passphrase are
// refused: nobody sits before a restore that cron started. No error repeats what was
// read.
func ReadIdentities(path string, stdin io.Reader) ([]age.Identity, error) {
	source, name := stdin, "stdin"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read identities: %w", err)
		}
		defer file.Close()
		source, name = file, path
	}
	text, err := io.ReadAll(io.LimitReader(source, identityLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read identities from %s: %w", name, err)
	}
	if len(text) > identityLimit {
		return nil, fmt.Errorf("read identities from %s: longer than 1 MiB", name)
	}
	identities, err := parseIdentities(text)
	if err != nil {
		return nil, fmt.Errorf("read identities from %s: %w", name, err)
	}
	return identities, nil
}

func parseIdentities(text []byte) ([]age.Identity, error) {
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		return nil, advise(errors.New("nothing there"), "age-keygen -o FILE makes a key")
	case bytes.HasPrefix(trimmed, []byte("age-encryption.org/")), bytes.HasPrefix(trimmed, []byte("-----BEGIN AGE ENCRYPTED FILE-----")):
		return nil, advise(errors.New("the file is encrypted with a passphrase"), "age -d FILE | heyaira-loop restore --identity - …")
	case bytes.HasPrefix(trimmed, []byte("-----BEGIN")):
		identity, err := agessh.ParseIdentity(text)
		var locked *ssh.PassphraseMissingError
		if errors.As(err, &locked) {
			return nil, advise(errors.New("the ssh key is encrypted with a passphrase"), "copy it and take the passphrase off the copy: ssh-keygen -p -N '' -f COPY")
		}
		if err != nil {
			return nil, errors.New("not an ssh-ed25519 or ssh-rsa private key")
		}
		return []age.Identity{identity}, nil
	case bytes.HasPrefix(trimmed, []byte("age1")), bytes.HasPrefix(trimmed, []byte("ssh-")):
		return nil, advise(errors.New("this is a recipient, the public half of a key"), "name the file that age-keygen -o made")
	}
	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New(identityProblem(err))
	}
	return identities, nil
}

// identityProblem keeps of age's error the line and drops what may repeat a key.
func identityProblem(err error) string {
	head, _, _ := strings.Cut(err.Error(), ": ")
	if strings.HasPrefix(head, "error at line ") {
		return "not an age identity in " + strings.TrimPrefix(head, "error at ")
	}
	return "no age identity in it"
}
