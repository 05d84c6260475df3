package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/heyaira/heyaira-loop/internal/canon"
)

// receiptTime is the one form of a time inside a receipt: UTC, microseconds.
const receiptTime = "2006-01-02T15:04:05.000000Z"

// Receipt is one change of an item's state. Each covers the digest of the one
// before it, so a changed, removed or reordered receipt breaks the chain.
// The zero values of Previous, Owner, Fence and Detail stand for none.
type Receipt struct {
	Previous string // digest of the item's receipt before this one
	Item     int64  // 0: the ledger's own chain
	No       int    // from 1, without gaps
	At       time.Time
	Kind     string
	Owner    string
	Fence    Serial
	Detail   json.RawMessage // the stored bytes, not a canonical form of them
}

// Digest computes the digest as the ledger's SQL does, independently of it. Text
// that has no canonical form (invalid UTF-8; no ledger can hold it) has the digest
// "", which no chain holds.
func (r Receipt) Digest() string {
	var detail any
	if r.Detail != nil {
		sum := sha256.Sum256(r.Detail)
		detail = hex.EncodeToString(sum[:])
	}
	var fence any
	if r.Fence != 0 {
		fence = r.Fence.String()
	}
	digest, err := canon.Digest(map[string]any{
		"at":     r.At.UTC().Format(receiptTime),
		"detail": detail,
		"event":  r.Kind,
		"fence":  fence,
		"item":   strconv.FormatInt(r.Item, 10),
		"no":     r.No,
		"owner":  orNone(r.Owner),
		"prev":   orNone(r.Previous),
	})
	if err != nil {
		return ""
	}
	return digest
}

func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}
