package lease_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/heyaira/heyaira-loop/internal/canon"
	"github.com/heyaira/heyaira-loop/lease"
)

// The objects are spelled out here as the ledger's SQL spells them.
func TestReceiptDigestIsThatOfItsCanonicalObject(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 19, 30, 5, 120_000_000, time.FixedZone("", 3600))
	for _, v := range []struct {
		receipt lease.Receipt
		object  string
	}{
		{
			lease.Receipt{Item: 42, No: 1, At: at, Kind: "created"},
			`{"at":"2026-11-30T18:30:05.120000Z","detail":null,"event":"created","fence":null,"item":"42","no":1,"owner":null,"prev":null}`,
		},
		{
			lease.Receipt{
				Previous: "sha256:x", Item: 9007199254740993, No: 2, At: at.Add(345 * time.Microsecond), Kind: "claimed",
				Owner: "h\"\u2028\x01:1:ab", Fence: lease.NewSerial(1, 17), Detail: json.RawMessage(`{ }`),
			},
			`{"at":"2026-11-30T18:30:05.120345Z","detail":"257c1be96ae69f4b01c2c69bdb6d78605f59175819fb007d0bf245bf48444c4a","event":"claimed",` +
				`"fence":"1:17","item":"9007199254740993","no":2,"owner":"h\"` + "\u2028" + `\u0001:1:ab","prev":"sha256:x"}`,
		},
	} {
		if got, want := v.receipt.Digest(), canon.DigestBytes([]byte(v.object)); got != want {
			t.Errorf("%s: digest %s, want %s", v.receipt.Kind, got, want)
		}
	}
}

func TestReceiptThatNoLedgerCanHoldHasNoDigest(t *testing.T) {
	t.Parallel()
	if got := (lease.Receipt{Kind: "created", Owner: "\xff"}).Digest(); got != "" {
		t.Errorf("digest %s", got)
	}
}
