package ledger

import (
	"encoding/json"
	"time"
)

// What is NULL in the ledger is a zero value here, and the other way round.

func moment(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

func orNull(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func document(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}

func textOrNull(document json.RawMessage) *string {
	if len(document) == 0 {
		return nil
	}
	text := string(document)
	return &text
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

func span(d time.Duration) *time.Duration {
	if d <= 0 {
		return nil
	}
	return &d
}
