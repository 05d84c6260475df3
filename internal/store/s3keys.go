package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Keys are the credentials for a bucket. They are never printed.
type Keys struct {
	Access  string
	Secret  string
	Session string // of temporary credentials; else empty
}

// String hides what the keys are.
func (Keys) String() string { return "(credentials)" }

// GoString hides what the keys are.
func (Keys) GoString() string { return "(credentials)" }

// EnvKeys reads credentials from the environment: PREFIX_ACCESS_KEY_ID,
// PREFIX_SECRET_ACCESS_KEY and, where it is set, PREFIX_SESSION_TOKEN.
func EnvKeys(env func(string) string, prefix string) func() (Keys, error) {
	return func() (Keys, error) {
		keys := Keys{env(prefix + "_ACCESS_KEY_ID"), env(prefix + "_SECRET_ACCESS_KEY"), env(prefix + "_SESSION_TOKEN")}
		if keys.Access == "" || keys.Secret == "" {
			return Keys{}, fmt.Errorf("read credentials: %[1]s_ACCESS_KEY_ID and %[1]s_SECRET_ACCESS_KEY are not both set", prefix)
		}
		return keys, nil
	}
}

// FileKeys reads credentials from a file in the form of ~/.aws/credentials: sections
// in brackets, each with aws_access_key_id, aws_secret_access_key and, for temporary
// ones, aws_session_token. An empty profile is the one called default.
func FileKeys(path, profile string) func() (Keys, error) {
	if profile == "" {
		profile = "default"
	}
	return func() (Keys, error) {
		values, err := readProfile(path, profile)
		if err != nil {
			return Keys{}, fmt.Errorf("read credentials: %w", err)
		}
		keys := Keys{values["aws_access_key_id"], values["aws_secret_access_key"], values["aws_session_token"]}
		if keys.Access == "" || keys.Secret == "" {
			return Keys{}, fmt.Errorf("read credentials: %s has no aws_access_key_id and aws_secret_access_key under [%s]", path, profile)
		}
		return keys, nil
	}
}

func readProfile(path, profile string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	values := map[string]string{}
	inside := false
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if section, ok := strings.CutPrefix(line, "["); ok {
			inside = strings.TrimSpace(strings.TrimSuffix(section, "]")) == profile
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok && inside && line[0] != '#' && line[0] != ';' {
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// keyring keeps the credentials in use, and gets new ones when those have expired.
type keyring struct {
	source func() (Keys, error)

	mu    sync.Mutex
	inUse Keys
	stale bool
}

var _ credentials.Provider = (*keyring)(nil)

// RetrieveWithCredContext answers the credentials to sign with.
func (k *keyring) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return k.Retrieve()
}

// Retrieve answers the credentials to sign with.
func (k *keyring) Retrieve() (credentials.Value, error) {
	keys, err := k.source()
	if err != nil {
		return credentials.Value{}, &keysError{err}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inUse, k.stale = keys, false
	return credentials.Value{
		AccessKeyID:     keys.Access,
		SecretAccessKey: keys.Secret,
		SessionToken:    keys.Session,
		SignerType:      credentials.SignatureV4,
	}, nil
}

// IsExpired tells whether the store has refused what is in use.
func (k *keyring) IsExpired() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stale
}

// current answers the credentials that a request is about to be signed with.
func (k *keyring) current() Keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.inUse
}

// renew looks whether there are other credentials than those a request was signed
// with, which have expired: whoever hands them out may have written new ones.
func (k *keyring) renew(expired Keys) bool {
	keys, err := k.source()
	k.mu.Lock()
	defer k.mu.Unlock()
	if expired == (Keys{}) {
		expired = k.inUse // it was the first request
	}
	if err != nil || keys == expired {
		return false
	}
	k.stale = k.stale || keys != k.inUse
	return true
}

// hide takes the credentials in use out of a text that came from outside.
func (k *keyring) hide(text string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, secret := range []string{k.inUse.Secret, k.inUse.Session, k.inUse.Access} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// keysError says that there are no credentials to sign with.
type keysError struct{ cause error }

// Error is the cause.
func (e *keysError) Error() string { return e.cause.Error() }

// Unwrap answers the cause.
func (e *keysError) Unwrap() error { return e.cause }

// isNoKeys tells whether an error is that no credentials could be read.
func isNoKeys(err error) bool {
	var missing *keysError
	return errors.As(err, &missing)
}
