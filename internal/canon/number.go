package canon

import (
	"math"
	"strconv"
)

// appendNumber writes a finite double as ECMAScript's Number::toString does: the
// shortest digits that read back, plain from 1e-6 up to 1e21, else with an exponent.
func appendNumber(out []byte, x float64) []byte {
	if x == 0 {
		return append(out, '0') // also -0
	}
	if size := math.Abs(x); size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(out, x, 'f', -1, 64)
	}
	out = strconv.AppendFloat(out, x, 'e', -1, 64)
	// Go writes at least two digits of an exponent, ECMAScript no leading zero.
	if n := len(out); out[n-2] == '0' && (out[n-3] == '+' || out[n-3] == '-') {
		out = append(out[:n-2], out[n-1])
	}
	return out
}
