// Package canon writes JSON in one canonical form and digests it, so that two
// programs that hold the same value agree on its bytes.
//
// The form is called sha256:dreamnet-sorted-json:v0. For every input that is
// accepted here it equals RFC 8785: UTF-8 without white space; members sorted by the
// UTF-16 code units of their keys; strings escaped as ECMAScript's JSON.stringify
// does; numbers as ECMAScript writes a finite double, with -0 as 0.
//
// What two readers could understand differently is refused, never repaired: invalid
// UTF-8, a lone surrogate, a key that stands twice in an object, a number beyond the
// doubles, nesting deeper than 128. Integers beyond 2^53 lose digits, as the form
// demands; put them into strings.
package canon
