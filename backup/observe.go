package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/internal/config"
	"github.com/heyaira/heyaira-loop/internal/store"
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

// text is null where there is nothing to remember, which clears what was.
func (m memo) text() (json.RawMessage, error) {
	if m.UnsureSince.IsZero() && len(m.Noted) == 0 {
		return json.RawMessage("null"), nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write memo: %w", err)
	}
	return text, nil
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
	storeID, err := c.storeOf(ctx, b, head)
	if err != nil {
		return nil, err
	}
	now, trusted, err := readMarker(ctx, conn, plan(b, storeID))
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
	if o.Memo, err = remember.text(); err != nil {
		return nil, err
	}
	return []ledger.Observation{o}, nil
}

// storeOf is the id of the store that backups go to, "" before there is one. The
// ledger knows it, but for one that was made anew and took its covers from the store.
func (c *Consumer) storeOf(ctx context.Context, b config.Backup, head ledger.Head) (string, error) {
	if id := head.Stores[b.Store]; id != "" || head.CoveredMarker == "" {
		return id, nil
	}
	st, err := c.options.Store(b.Store)
	if err != nil {
		return "", notThere(ctx, b.Store, err)
	}
	id, err := storeID(ctx, st)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", notThere(ctx, b.Store, err)
	}
	return id, nil
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
