package lease_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/heyaira/heyaira-loop/lease"
)

func TestSerialIsReadAsItIsShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		epoch := rapid.Int64Range(0, 1<<23-1).Draw(t, "epoch")
		number := rapid.Int64Range(0, 1<<40-1).Draw(t, "number")
		s := lease.NewSerial(epoch, number)
		if s.Epoch() != epoch || s.Number() != number || s < 0 {
			t.Fatalf("%d:%d became %d, %d:%d", epoch, number, int64(s), s.Epoch(), s.Number())
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var read lease.Serial
		if err := json.Unmarshal(text, &read); err != nil || read != s {
			t.Fatalf("%s was read as %s, %v", text, read, err)
		}
	})
}

func TestSerialOfALaterEpochIsGreater(t *testing.T) {
	t.Parallel()
	if last, first := lease.NewSerial(1, 1<<40-1), lease.NewSerial(2, 1); last >= first {
		t.Errorf("%s is not below %s", last, first)
	}
}

func TestMalformedSerialIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", ":", "1:", ":1", "1:2:3", "-1:2", "1:-2", "+1:2", " 1:2", "1: 2", "8388608:1", "1:1099511627776", "0x1:2", "1_0:2"} {
		if s, err := lease.ParseSerial(text); err == nil {
			t.Errorf("%q was read as %s", text, s)
		}
	}
}
