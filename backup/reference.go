package backup

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

// reference says where a published backup lies. It is what the ledger keeps as the
// result of a run.
type reference struct {
	Backup   string `json:"backup"`
	Store    string `json:"store"`    // its name in the configuration
	StoreID  string `json:"store_id"` // UUID of its store.json
	Manifest string `json:"manifest"` // key
	Digest   string `json:"digest"`   // of the manifest
	Size     int64  `json:"size"`     // in the store, bytes
}

// publication is the evidence that a backup was published: the result of its run,
// also for a later attempt that finds it done.
type publication struct {
	reference
	Marker  string       `json:"marker"`
	Ticket  lease.Serial `json:"ticket"`
	TakenAt time.Time    `json:"taken_at"`
}

// publicationOf describes a manifest that stands in a store.
func publicationOf(p *place, m *Manifest, id ID) publication {
	return publication{
		reference: reference{
			Backup:   m.Backup,
			Store:    p.name,
			StoreID:  p.id,
			Manifest: id.key(m.Scope, manifestName),
			Digest:   m.Digest,
			Size:     m.size(),
		},
		Marker:  string(m.Marker),
		Ticket:  m.Ticket,
		TakenAt: m.TakenAt.Time,
	}
}

func (p publication) evidence() (json.RawMessage, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write evidence of backup %s: %w", p.Backup, err)
	}
	return text, nil
}

// result is the publication as the result of a run.
func (p publication) result() (lease.Result, error) {
	data, err := json.Marshal(p.reference)
	if err != nil {
		return lease.Result{}, fmt.Errorf("write result of backup %s: %w", p.Backup, err)
	}
	return lease.Result{Data: data, Marker: p.Marker, Ticket: p.Ticket, TakenAt: p.TakenAt}, nil
}
