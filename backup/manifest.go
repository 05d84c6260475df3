package backup

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/heyaira/heyaira-loop/internal/canon"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
)

// mainRole is the role of the object that holds the database itself.
const mainRole = "main"

// Manifest says what a backup is and where its bytes lie. It is plain text without
// secrets, written once after everything else, and never changed: with it and the
// key a backup is restored, without it there is no backup.
type Manifest struct {
	Format      int               `json:"format"`
	Backup      string            `json:"backup"`
	Ledger      string            `json:"ledger"`
	Environment string            `json:"environment"`
	Scope       string            `json:"scope"`
	WorkType    string            `json:"work_type"`
	Generation  lease.Serial      `json:"generation"`
	Item        int64             `json:"item,string"`
	Claims      int               `json:"claims"`
	Fence       lease.Serial      `json:"fence"`
	Head        string            `json:"head"`     // the item's newest receipt before the dump
	Previous    *string           `json:"previous"` // the backup before this one
	Marker      json.RawMessage   `json:"marker"`
	Ticket      lease.Serial      `json:"ticket"`
	TakenAt     Stamp             `json:"taken_at"` // the snapshot, by the protected server's clock
	Server      ServerFacts       `json:"server"`
	Dump        DumpFacts         `json:"dump"`
	Extensions  map[string]string `json:"extensions"`
	Recipients  []string          `json:"recipients"` // SHA-256 of each recipient's text
	Objects     []Object          `json:"objects"`
	Restore     string            `json:"restore"`
	Program     string            `json:"program"`
	Digest      string            `json:"digest"`
	Signature   string            `json:"signature,omitempty"`
}

// ServerFacts describe the protected database and its server.
type ServerFacts struct {
	Version          int    `json:"version"` // server_version_num
	SystemIdentifier string `json:"system_identifier"`
	Database         string `json:"database"`
	Encoding         string `json:"encoding"`
	Collation        string `json:"collation"`
	Standby          bool   `json:"standby"`
}

// DumpFacts describe how the dump was made. Version is pg_dump's, as a
// server_version_num.
type DumpFacts struct {
	Version     int    `json:"version"`
	Compression string `json:"compression"`
	Jobs        int    `json:"jobs"`
}

// Object is one object of a backup. Size (bytes) and SHA-256 are those of the
// ciphertext, so that it can be checked without a key.
type Object struct {
	Role   string `json:"role"`
	Key    string `json:"key"` // in the backup's folder
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// closed stands in the manifest's place of an attempt that can never publish.
type closed struct {
	Format int    `json:"format"`
	Backup string `json:"backup"`
	Ledger string `json:"ledger"`
	Closed Stamp  `json:"closed"`
	By     string `json:"by"`
}

// seal computes the digest, which covers everything but itself and the signature.
func (m *Manifest) seal() error {
	digest, err := m.compute()
	m.Digest = digest
	return err
}

func (m *Manifest) compute() (string, error) {
	text, err := canon.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("digest manifest: %w", err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return "", fmt.Errorf("digest manifest: %w", err)
	}
	delete(members, "digest")
	delete(members, "signature")
	return canon.Digest(members)
}

// main is the object that holds the database. check has seen to it that it is there.
func (m *Manifest) main() Object {
	for _, object := range m.Objects {
		if object.Role == mainRole {
			return object
		}
	}
	return Object{}
}

// size is what the backup takes in its store, in bytes.
func (m *Manifest) size() int64 {
	var total int64
	for _, object := range m.Objects {
		total += object.Size
	}
	return total
}

// previous is the id of the backup before this one, "" where there is none.
func (m *Manifest) previous() string {
	if m.Previous == nil {
		return ""
	}
	return *m.Previous
}

// readManifest reads what stands at an attempt's manifest key: a manifest, or the
// record that closed the attempt; store.ErrNotFound where nothing does.
func readManifest(ctx context.Context, st store.Store, scope string, id ID) (*Manifest, *closed, error) {
	key := id.key(scope, manifestName)
	text, err := getRecord(ctx, st, key)
	if err != nil {
		return nil, nil, err
	}
	var probe struct {
		Closed *json.RawMessage `json:"closed"`
	}
	if err := json.Unmarshal(text, &probe); err != nil {
		return nil, nil, unreadable(key, err)
	}
	if probe.Closed != nil {
		var end closed
		if err := decode(key, text, &end); err != nil {
			return nil, nil, err
		}
		if end.Backup != id.String() {
			return nil, nil, unreadable(key, errors.New("it names another backup"))
		}
		return nil, &end, nil
	}
	var manifest Manifest
	if err := decode(key, text, &manifest); err != nil {
		return nil, nil, err
	}
	if err := manifest.check(scope, id); err != nil {
		return nil, nil, unreadable(key, err)
	}
	return &manifest, nil, nil
}

// check refuses a manifest that does not belong where it was found, that was changed,
// or whose keys lead out of its folder.
func (m *Manifest) check(scope string, id ID) error {
	digest, err := m.compute()
	if err != nil {
		return err
	}
	if digest != m.Digest {
		return errors.New("its digest differs from its contents")
	}
	if m.Backup != id.String() || m.Scope != scope || m.Generation != id.Generation ||
		m.Fence.Number() != id.Fence.Number() || !isUUID(m.Ledger) || m.Ledger[:8] != id.Ledger {
		return errors.New("it belongs to another folder")
	}
	seen := map[string]bool{}
	for _, object := range m.Objects {
		sum, err := hex.DecodeString(object.SHA256)
		if err != nil || len(sum) != 32 || object.Size <= 0 || object.Role == "" {
			return fmt.Errorf("object %q has no size or no SHA-256", object.Key)
		}
		if !objectName(object.Key) || seen[object.Key] {
			return fmt.Errorf("object key %q leads out of the folder or stands twice", object.Key)
		}
		seen[object.Key] = true
	}
	if m.main().Key == "" {
		return errors.New("it names no main object")
	}
	return nil
}

func isUUID(text string) bool {
	return regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(text)
}
