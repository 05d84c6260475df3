package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Tag begins every digest and names the form that was hashed.
const Tag = "sha256:dreamnet-sorted-json:v0:"

// Marshal writes v, as encoding/json sees it, in canonical form.
func Marshal(v any) ([]byte, error) {
	if err := checkText(reflect.ValueOf(v), 0); err != nil {
		return nil, fmt.Errorf("marshal canonical json: %w", err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("marshal canonical json: %w", err)
	}
	return Canonicalize(raw)
}

// Canonicalize rewrites one JSON text in canonical form.
func Canonicalize(raw []byte) ([]byte, error) {
	r := reader{text: raw}
	out, err := r.document(make([]byte, 0, len(raw)))
	if err != nil {
		return nil, fmt.Errorf("canonicalize json at byte %d: %w", r.at, err)
	}
	return out, nil
}

// Digest is the tagged SHA-256 of v's canonical form.
func Digest(v any) (string, error) {
	text, err := Marshal(v)
	if err != nil {
		return "", err
	}
	return DigestBytes(text), nil
}

// DigestBytes is the tagged SHA-256 of a text that is canonical already.
func DigestBytes(canonical []byte) string { return Tag + hexSum(canonical) }

// ResourceID names a thing by what it is, the same on every host. Neither part may
// be empty.
func ResourceID(kind, key string) (string, error) {
	if kind == "" || key == "" {
		return "", errors.New("name resource: kind and key must not be empty")
	}
	text, err := Marshal(map[string]string{"key": key, "kind": kind})
	if err != nil {
		return "", err
	}
	return "heart:resource:" + hexSum(text), nil
}

// EffectKey names an outward action by its business identity, so that a retry
// computes the same key.
func EffectKey(prefix string, identity any) (string, error) {
	text, err := Marshal(identity)
	if err != nil {
		return "", err
	}
	return prefix + ":" + hexSum(text), nil
}

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
