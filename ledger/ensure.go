package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/heyaira/heyaira-loop/lease"
)

// Bounds of an observation; the ledger's constraints hold the same.
const (
	maxMarker  = 64 << 10
	maxKey     = 512
	maxPayload = 64 << 10
	maxMemo    = 64 << 10
)

// Ensure turns what a tick observed into work, in one statement, and answers every
// observation, in their order. ticket is the survey's: it was drawn before any marker
// was read. An observation that breaks a bound, or whose scope is not registered, is
// answered with an Err and holds back no other.
//
// An observation with Now (tick --now) ignores the cover, min_interval, the window and
// a back-off; where the same marker has ended badly or was cancelled it makes the work
// anew under a later generation. It never overrides a pause, a gate, or an item that
// is running, and a business key that was used is not used again.
func (db *DB) Ensure(ctx context.Context, ticket lease.Serial, observations []Observation) ([]Answer, error) {
	answers := make([]Answer, len(observations))
	asked := make([]int, 0, len(observations)) // places in observations of what is sent
	var c columns
	for i, o := range observations {
		answers[i] = Answer{WorkType: o.WorkType, Scope: o.Scope}
		if err := o.check(); err != nil {
			answers[i].Err = err
			continue
		}
		asked = append(asked, i)
		c.add(o)
	}
	if len(asked) == 0 {
		return answers, nil
	}
	err := db.query(ctx, "ensure", func(rows pgx.Rows) error {
		var n, item int64
		var word *string
		if err := rows.Scan(&n, &word, &item); err != nil {
			return err
		}
		answer := &answers[asked[n-1]]
		switch {
		case word == nil:
			answer.Err = fmt.Errorf("ensure %s %s: scope is not registered", answer.WorkType, answer.Scope)
		case *word == "unkeyed":
			answer.Err = fmt.Errorf("ensure %s %s: key or marker is empty", answer.WorkType, answer.Scope)
		default:
			answer.Word, answer.Item = Word(*word), item
		}
		return nil
	}, c.workTypes, c.scopes, c.keys, c.markers, c.payloads, int64(ticket), c.occurrences, c.followings,
		c.notBefores, c.forced, c.now, c.memos)
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// columns are observations as the statement takes them.
type columns struct {
	workTypes, scopes, keys, markers, payloads []string
	occurrences, followings, notBefores        []*time.Time
	forced, now                                []bool
	memos                                      []*string
}

func (c *columns) add(o Observation) {
	payload := "{}"
	if len(o.Payload) > 0 {
		payload = string(o.Payload)
	}
	c.workTypes = append(c.workTypes, o.WorkType)
	c.scopes = append(c.scopes, o.Scope)
	c.keys = append(c.keys, o.Key)
	c.markers = append(c.markers, o.Marker)
	c.payloads = append(c.payloads, payload)
	c.occurrences = append(c.occurrences, orNull(o.Occurrence))
	c.followings = append(c.followings, orNull(o.Following))
	c.notBefores = append(c.notBefores, orNull(o.NotBefore))
	c.forced = append(c.forced, o.Forced || o.Now)
	c.now = append(c.now, o.Now)
	c.memos = append(c.memos, textOrNull(o.Memo))
}

// check refuses what the statement would fail on, for all scopes at once.
func (o Observation) check() error {
	err := errors.Join(
		checkText("work type", o.WorkType, maxKey),
		checkText("scope", o.Scope, maxKey),
		checkText("key", o.Key, maxKey),
		checkText("marker", o.Marker, maxMarker),
		checkDocument("payload", o.Payload, maxPayload),
		checkDocument("memo", o.Memo, maxMemo),
	)
	if err != nil {
		return fmt.Errorf("ensure %.80q %.80q: %w", o.WorkType, o.Scope, err)
	}
	return nil
}

func checkText(what, text string, most int) error {
	switch {
	case len(text) > most:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", what, len(text), most)
	case !utf8.ValidString(text), strings.ContainsRune(text, 0):
		return fmt.Errorf("%s is not text", what)
	}
	return nil
}

func checkDocument(what string, document json.RawMessage, most int) error {
	if len(document) == 0 {
		return nil
	}
	if err := checkText(what, string(document), most); err != nil {
		return err
	}
	if !json.Valid(document) {
		return fmt.Errorf("%s is not JSON", what)
	}
	return nil
}
