package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/heyaira/heyaira-loop/internal/canon"
	"github.com/heyaira/heyaira-loop/internal/config"
)

// plan is the digest of where and how backups of b are kept. A cover is no cover for
// another plan: a new store is empty, and a new recipient cannot read the old backups.
func plan(b config.Backup, storeID string) string {
	return planDigest(storeID, "", b.Recipients, "all")
}

// planDigest hashes a plan. The order of recipients does not count.
func planDigest(storeID, prefix string, recipients []string, included string) string {
	fingerprints := make([]string, len(recipients))
	for i, text := range recipients {
		fingerprints[i] = fingerprint(text)
	}
	slices.Sort(fingerprints)
	text, err := canon.Marshal(struct {
		Included   string   `json:"included"`
		Prefix     string   `json:"prefix"`
		Recipients []string `json:"recipients"`
		Store      string   `json:"store"`
	}{included, prefix, fingerprints, storeID})
	if err != nil {
		return "" // no UTF-8, which configuration and store.json cannot hold
	}
	return hexSum(text)
}

// hexSum is the SHA-256 of text in hexadecimal digits.
func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
