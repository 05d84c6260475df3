package canon_test

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/heyaira/heyaira-loop/internal/canon"
)

//go:embed testdata/numbers.txt
var fixedNumbers string

// doubles yields the bits of RFC 8785's number suite: fixed values, then the 2,000
// smallest normal ones, then a chain of SHA-256 over 32 zero bytes, four to a block,
// without zero and what is not finite.
func doubles(yield func(bits uint64) bool) {
	for _, line := range strings.Fields(fixedNumbers) {
		bits, err := strconv.ParseUint(line, 16, 64)
		if err != nil || !yield(bits) {
			return
		}
	}
	for i := range uint64(2000) {
		if !yield(0x0010000000000000 + i) {
			return
		}
	}
	var block [32]byte
	for {
		block = sha256.Sum256(block[:])
		for i := 0; i < len(block); i += 8 {
			bits := binary.LittleEndian.Uint64(block[i:])
			x := math.Float64frombits(bits)
			if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
				continue
			}
			if !yield(bits) {
				return
			}
		}
	}
}

func TestNumberSuite(t *testing.T) {
	t.Parallel()
	sums := map[int]string{
		1_000:   "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
		10_000:  "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892",
		100_000: "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7",
	}
	lines, hash := 0, sha256.New()
	for bits := range doubles {
		text, err := canon.Marshal(math.Float64frombits(bits))
		if err != nil {
			t.Fatalf("%x: %v", bits, err)
		}
		fmt.Fprintf(hash, "%x,%s\n", bits, text)
		lines++
		if want := sums[lines]; want != "" {
			if got := hex.EncodeToString(hash.Sum(nil)); got != want {
				t.Errorf("%d lines: sum %s, want %s", lines, got, want)
			}
		}
		if lines == 100_000 {
			return
		}
	}
	t.Errorf("the suite ended after %d lines", lines)
}

func TestNumbersOfRFC8785(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x4340000000000001: "9007199254740994",
		0x4340000000000002: "9007199254740996",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x8000000000000000: "0",
	} {
		if got, err := canon.Marshal(math.Float64frombits(bits)); err != nil || string(got) != want {
			t.Errorf("%x: got %s, %v, want %s", bits, got, err, want)
		}
	}
	for _, bits := range []uint64{0x7fffffffffffffff, 0x7ff0000000000000, 0xfff0000000000000} {
		if got, err := canon.Marshal(math.Float64frombits(bits)); err == nil {
			t.Errorf("%x was taken for %s", bits, got)
		}
	}
}
