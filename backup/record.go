package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/heyaira/heyaira-loop/internal/canon"
	"github.com/heyaira/heyaira-loop/internal/store"
	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// format is the version of everything that is written into a store.
const format = 1

// recordLimit bounds a record; a larger one is none of ours.
const recordLimit = 1 << 20

// stampForm is the one form of a time in a store: RFC 3339, UTC, microseconds.
const stampForm = "2006-01-02T15:04:05.000000Z"

// Stamp is a time in the store's form: RFC 3339, UTC, microseconds.
type Stamp struct{ time.Time }

// stamp cuts a time to what its written form holds.
func stamp(at time.Time) Stamp { return Stamp{at.UTC().Truncate(time.Microsecond)} }

// MarshalJSON writes the time in the store's form.
func (s Stamp) MarshalJSON() ([]byte, error) { return json.Marshal(s.UTC().Format(stampForm)) }

// UnmarshalJSON reads the store's form and nothing else.
func (s *Stamp) UnmarshalJSON(text []byte) error {
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	at, err := time.Parse(stampForm, written)
	if err != nil {
		return fmt.Errorf("parse time %q: want RFC 3339 in UTC with microseconds", written)
	}
	s.Time = at
	return nil
}

// errUnreadable says that a record is there and is not one of this format.
var errUnreadable = errors.New("record cannot be read")

// getRecord reads one record; store.ErrNotFound where it is missing. The answer is
// its canonical text, which tells which of two records it was.
func getRecord(ctx context.Context, st store.Store, key string) ([]byte, error) {
	body, err := st.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	raw, err := io.ReadAll(io.LimitReader(body, recordLimit+1))
	if closed := body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	if len(raw) > recordLimit {
		return nil, unreadable(key, errors.New("it is longer than 1 MiB"))
	}
	// Also refuses a key that stands twice: two readers would disagree about it.
	text, err := canon.Canonicalize(raw)
	if err != nil {
		return nil, unreadable(key, err)
	}
	return text, checkFormat(key, text)
}

// checkFormat refuses a record of another format, a newer one by name.
func checkFormat(key string, text []byte) error {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return unreadable(key, err)
	}
	if head.Format > format {
		return refused(fmt.Sprintf("%s has format %d, this program reads format %d", key, head.Format, format),
			"use the heyaira-loop that wrote it, or a newer one")
	}
	if head.Format != format {
		return unreadable(key, errors.New("it has no format"))
	}
	return nil
}

// decode reads a canonical text into a record of a known kind. Only what this
// program would write itself is accepted, so nothing in a record goes unread.
func decode(key string, text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return unreadable(key, err)
	}
	again, err := canon.Marshal(into)
	if err != nil {
		return unreadable(key, err)
	}
	if !bytes.Equal(again, text) {
		return unreadable(key, errors.New("a member is missing or not in its one form"))
	}
	return nil
}

// readRecord is getRecord and decode.
func readRecord(ctx context.Context, st store.Store, key string, into any) error {
	text, err := getRecord(ctx, st, key)
	if err != nil {
		return err
	}
	return decode(key, text, into)
}

// putRecord writes a record once, in canonical form; store.ErrExists where one stands.
func putRecord(ctx context.Context, st store.Store, key string, record any) error {
	body, err := canon.Marshal(record)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if err := st.PutOnce(ctx, key, body); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

func unreadable(key string, cause error) error {
	err := fmt.Errorf("read %s: %w: %w", key, errUnreadable, cause)
	hint := "it was changed or damaged: get it back from a copy of the store"
	if _, _, _, ok := splitKey(key); ok { // one backup's, and the others can do without it
		hint += ", or move its folder out of the store to go on without it"
	}
	return lease.WithClass(lease.Blocked, advise(err, hint))
}

// refused is an error that says that this store or scope may not be used as it is.
func refused(reason, hint string) error {
	return lease.WithClass(lease.Blocked, &ledger.RefusedError{Reason: reason, Hint: hint})
}

// unreachable is an error that says that a store is not there.
func unreachable(reason, hint string, cause error) error {
	return lease.WithClass(lease.Blocked, &ledger.UnreachableError{Reason: reason, Hint: hint, Err: cause})
}
