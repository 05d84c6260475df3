package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// maxDocument is what the ledger's constraints allow a result, an evidence or a
// target, in bytes.
const maxDocument = 64 << 10

// maxReason is what is kept of an error's text, in characters.
const maxReason = 1000

// holders are the columns that a statement judges holders by.
type holders struct {
	items  []int64
	fences []int64
	owners []string
}

func (h *holders) add(held lease.Holder) {
	h.items = append(h.items, held.Item)
	h.fences = append(h.fences, int64(held.Fence))
	h.owners = append(h.owners, held.Owner)
}

func holdersOf(held []lease.Holder) holders {
	var h holders
	for _, one := range held {
		h.add(one)
	}
	return h
}

// collect makes a scan that appends what read makes of each row.
func collect[T any](to *[]T, read func(rows pgx.Rows) (T, error)) func(rows pgx.Rows) error {
	return func(rows pgx.Rows) error {
		one, err := read(rows)
		if err != nil {
			return err
		}
		*to = append(*to, one)
		return nil
	}
}

// scanItem reads a row of claim or start.
func scanItem(rows pgx.Rows) (lease.Item, error) {
	var (
		item              lease.Item
		generation, fence int64
		step, payload     string
		result, marker    *string
		ticket            *int64
		takenAt           *time.Time
	)
	err := rows.Scan(&item.Holder.Item, &item.WorkType, &item.Scope, &item.DedupeKey, &generation, &step,
		&fence, &item.Owner, &item.Until, &item.TTL, &item.Claims, &item.Marker, &payload, &item.Head,
		&result, &marker, &ticket, &takenAt, &item.Now)
	if err != nil {
		return lease.Item{}, err
	}
	item.Generation = lease.Serial(generation)
	item.Fence = lease.Serial(fence)
	item.Step = lease.Step(step)
	item.Payload = json.RawMessage(payload)
	if result != nil {
		item.Result.Data = json.RawMessage(*result)
	}
	if ticket != nil && marker != nil && takenAt != nil {
		item.Result.Marker, item.Result.Ticket, item.Result.TakenAt = *marker, lease.Serial(*ticket), *takenAt
	}
	return item, nil
}

func scanKept(rows pgx.Rows) (lease.Kept, error) {
	var kept lease.Kept
	err := rows.Scan(&kept.Item, &kept.Until, &kept.TTL)
	return kept, err
}

// scanEnded reads a row of fail or give_back.
func scanEnded(rows pgx.Rows) (lease.Ended, error) {
	var ended lease.Ended
	var word string
	var again *time.Time
	if err := rows.Scan(&ended.Item, &word, &again); err != nil {
		return lease.Ended{}, err
	}
	ended.Outcome = lease.Outcome(word)
	if again != nil {
		ended.Again = *again
	}
	return ended, nil
}

// storable is a JSON text as a statement takes it. One that the ledger would refuse is
// refused before the statement, since there it would take the other items with it.
func storable(raw json.RawMessage) (string, error) {
	switch {
	case len(raw) == 0:
		return "{}", nil
	case len(raw) > maxDocument:
		return "", fmt.Errorf("%d bytes, at most %d are kept", len(raw), maxDocument)
	case !json.Valid(raw) || !utf8.Valid(raw):
		return "", errors.New("not a JSON text in UTF-8")
	}
	return string(raw), nil
}

// clean makes a text that the ledger can hold of one that came from anywhere.
func clean(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}
