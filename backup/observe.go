package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/ledger"
)

const (
	// patience is how long a scope may stay unsure before that counts as a change.
	patience = 15 * time.Minute
	// goodbye bounds the closing of a connection.
	goodbye = 5 * time.Second
)

// memo is what the observer remembers from one tick to the next.
type memo struct {
	// UnsureSince is when the present doubt began, by the ledger's clock.
	UnsureSince time.Time `json:"unsure_since,omitzero"`
	// Noted is what weakens the observation, for people.
	Noted []string `json:"noted,omitempty"`
}

// Observe reads the marker of a scope's database in one turn and answers with the
// covered one where nothing changed. A doubt is answered in the same way, remembered,
// and counts as a change after 15 minutes.
func (c *Consumer) Observe(ctx context.Context, head ledger.Head) ([]ledger.Observation, error) {
	b, err := c.backup(head.Scope)
	if err != nil {
		return nil, err
	}
	conn, _, err := connectSource(ctx, b.Service)
	if err != nil {
		return nil, err
	}
	defer hangUp(ctx, conn)
	now, trusted, err := readMarker(ctx, conn, plan(b, head.Stores[b.Store]))
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", b.Service, err)
	}

	seen := judge(now, head.CoveredMarker)
	remember := memo{Noted: weaknesses(now, trusted)}
	if seen.word == unsure {
		if remember.UnsureSince = doubtBegan(head); head.Now.Sub(remember.UnsureSince) >= patience {
			seen.word = changed
		}
	}
	o := ledger.Observation{WorkType: WorkType, Scope: head.Scope, Marker: head.CoveredMarker, Forced: head.Force}
	if seen.word == changed || head.Force {
		o.Marker = now.Text()
	}
	if o.Payload, err = json.Marshal(map[string]string{"seen": seen.reason}); err != nil {
		return nil, fmt.Errorf("write payload: %w", err)
	}
	if o.Memo, err = json.Marshal(remember); err != nil {
		return nil, fmt.Errorf("write memo: %w", err)
	}
	return []ledger.Observation{o}, nil
}

// judge compares with a cover as the ledger has it. What cannot be compared is a
// change.
func judge(now Marker, covered string) verdict {
	if covered == "" {
		return verdict{changed, "never covered"}
	}
	marker, err := ParseMarker(covered)
	if err != nil {
		return verdict{changed, "covered marker is unreadable"}
	}
	return now.compare(marker)
}

// doubtBegan is the time that the head's memo holds, or now. A doubt from before the
// newest cover is over.
func doubtBegan(head ledger.Head) time.Time {
	var before memo
	if json.Unmarshal(head.Memo, &before) != nil || before.UnsureSince.IsZero() ||
		before.UnsureSince.Before(head.CoveredAt) || before.UnsureSince.After(head.Now) {
		return head.Now.UTC()
	}
	return before.UnsureSince
}

// weaknesses are the reasons to believe a marker less, for status.
func weaknesses(m Marker, t trust) []string {
	var noted []string
	if !t.counting {
		noted = append(noted, "track_counts is off: a change is seen 15 minutes late")
	}
	if m.standby() {
		noted = append(noted, "standby: every replayed transaction counts as a change")
	}
	if parts := strings.Split(m.Seq, ":"); len(parts) == 3 && parts[1] != "0" {
		noted = append(noted, parts[1]+" sequences are unreadable: grant pg_read_all_data")
	}
	return noted
}

// hangUp closes a connection, also where ctx has ended.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = conn.Close(ctx) // nothing depends on it: the server ends the session anyhow
}
