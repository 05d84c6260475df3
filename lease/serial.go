package lease

import (
	"fmt"
	"strconv"
	"strings"
)

// serialBits is the width of a serial's number; the ledger's epoch stands above it.
const serialBits = 40

// Serial is a number that the ledger draws: a fence, a ticket or a generation.
// The epoch of the ledger stands in its upper bits, so a plain > holds between
// one drawn before the ledger was restored and one drawn after. It is shown, and
// written into JSON, as the text "epoch:number", which no JSON reader rounds.
type Serial int64

// NewSerial puts a serial together from its epoch and its number.
func NewSerial(epoch, number int64) Serial {
	return Serial(epoch<<serialBits | number&(1<<serialBits-1))
}

// ParseSerial reads the form that String writes.
func ParseSerial(text string) (Serial, error) {
	left, right, ok := strings.Cut(text, ":")
	if !ok {
		return 0, fmt.Errorf("parse serial %q: want epoch:number", text)
	}
	epoch, err := strconv.ParseUint(left, 10, 63-serialBits)
	if err != nil {
		return 0, fmt.Errorf("parse serial %q: bad epoch", text)
	}
	number, err := strconv.ParseUint(right, 10, serialBits)
	if err != nil {
		return 0, fmt.Errorf("parse serial %q: bad number", text)
	}
	return NewSerial(int64(epoch), int64(number)), nil
}

// Epoch is the ledger's epoch at the time the serial was drawn.
func (s Serial) Epoch() int64 { return int64(s) >> serialBits }

// Number is the serial without its epoch.
func (s Serial) Number() int64 { return int64(s) & (1<<serialBits - 1) }

// String is "epoch:number".
func (s Serial) String() string {
	return strconv.FormatInt(s.Epoch(), 10) + ":" + strconv.FormatInt(s.Number(), 10)
}

// MarshalText writes the form that String writes.
func (s Serial) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the form that String writes.
func (s *Serial) UnmarshalText(text []byte) error {
	parsed, err := ParseSerial(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
