package backup

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"io"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"

	"github.com/heyaira/heyaira-loop/lease"
)

// sshKey makes an ed25519 key: its recipient's text and its private file.
func sshKey(t testing.TB, passphrase string) (recipient, private string) {
	t.Helper()
	public, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatalf("make ssh key: %v", err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(secret, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(secret, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatalf("write ssh key: %v", err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatalf("write ssh key: %v", err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))), string(pem.EncodeToMemory(block))
}

func TestKeysOfEveryKindOpenWhatTheirRecipientsSealed(t *testing.T) {
	t.Parallel()
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatalf("make hybrid identity: %v", err)
	}
	x := newIdentity(t)
	recipient, private := sshKey(t, "")
	for _, key := range []struct{ name, recipient, file string }{
		{"X25519", x.Recipient().String(), "# created: today\n# public key: " + x.Recipient().String() + "\n" + x.String() + "\n"},
		{"Hybrid", hybrid.Recipient().String(), hybrid.String()},
		{"SSH", recipient + " ops@db1", private},
	} {
		t.Run(key.name, func(t *testing.T) {
			t.Parallel()
			recipients, fingerprints, err := parseRecipients([]string{key.recipient})
			if err != nil {
				t.Fatalf("parse recipients: %v", err)
			}
			if len(fingerprints) != 1 || len(fingerprints[0]) != 64 {
				t.Errorf("fingerprints = %q, want one SHA-256", fingerprints)
			}
			ciphertext, _ := sealed(t, rows(1000), recipients...)
			for _, path := range []string{write(t, "key", key.file), "-"} {
				identities, err := ReadIdentities(path, strings.NewReader(key.file))
				if err != nil {
					t.Fatalf("read identities: %v", err)
				}
				body, err := unseal(bytes.NewReader(ciphertext), identities)
				if err != nil {
					t.Fatalf("unseal: %v", err)
				}
				if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, rows(1000)) {
					t.Errorf("read %d bytes, %v, want what was sealed", len(got), err)
				}
			}
		})
	}
}

func TestCommentOfAnSSHKeyIsNoPartOfItsFingerprint(t *testing.T) {
	t.Parallel()
	recipient, _ := sshKey(t, "")
	if got, want := fingerprint(recipient+"  ops@db1"), fingerprint(recipient); got != want {
		t.Errorf("fingerprint = %s with a comment, want %s", got, want)
	}
}

func TestBadRecipientsAreRefusedWithoutRepeatingThem(t *testing.T) {
	t.Parallel()
	secret := newIdentity(t).String()
	for _, texts := range [][]string{nil, {secret}, {newIdentity(t).Recipient().String(), "age1nonsense"}, {"ssh-ed25519 AAAA"}} {
		_, _, err := parseRecipients(texts)
		if err == nil || lease.ClassOf(err) != lease.Permanent {
			t.Errorf("parseRecipients(%d texts) = %v, want a permanent error", len(texts), err)
			continue
		}
		if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "nonsense") {
			t.Errorf("the error repeats a recipient: %v", err)
		}
	}
}

func TestBadIdentitiesAreRefusedWithAHintAndWithoutRepeatingThem(t *testing.T) {
	t.Parallel()
	_, locked := sshKey(t, "hunter2")
	good := newIdentity(t).String()
	broken := good[:len(good)-1] + "0"
	for name, c := range map[string]struct{ text, want string }{
		"Empty":      {"\n", "nothing there"},
		"Recipient":  {newIdentity(t).Recipient().String(), "public half"},
		"Encrypted":  {"age-encryption.org/v1\n-> scrypt x 18\n", "passphrase"},
		"Armored":    {"-----BEGIN AGE ENCRYPTED FILE-----\nx\n", "passphrase"},
		"LockedSSH":  {locked, "passphrase"},
		"OtherPEM":   {"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", "not an ssh"},
		"Broken":     {"# mine\n" + broken + "\n", "in line 2"},
		"Oversized":  {strings.Repeat("# x\n", identityLimit/4+1), "longer"},
		"OnlyRemark": {"# nothing else\n", "no age identity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadIdentities("-", strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("ReadIdentities = %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), broken[20:]) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
	if _, err := ReadIdentities("/nowhere/key", nil); err == nil {
		t.Error("ReadIdentities of a missing file = nil, want an error")
	}
}
