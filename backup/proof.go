package backup

import "encoding/json"

// proof is verified.json, and with a reason refuted.json. Each is put once. What was
// refuted stays refuted, whatever was proven before or after.
type proof struct {
	Format   int             `json:"format"`
	Backup   string          `json:"backup"`
	Manifest string          `json:"manifest"` // digest
	Level    string          `json:"level"`
	At       Stamp           `json:"at"` // the ledger's clock
	Evidence json.RawMessage `json:"evidence"`
	Reason   string          `json:"reason,omitempty"` // of a refutation
}

// The levels of proof that this program has. Size: the object is there in the size
// that the manifest says. Hash: its bytes are those that were written.
const (
	levelSize = "size"
	levelHash = "hash"
)
