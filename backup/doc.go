// Package backup is the consumer that backs up PostgreSQL databases:
//
//	observe   marker of the database ── compare with the covered marker ──► changed, unchanged, unsure
//	run       marker ─► exported snapshot ─► pg_dump ─► zstd ─► age ─► store ─► manifest
//	verify    the stored object against the manifest ─► verified.json
//	restore   manifests alone ─► age ─► zstd ─► pg_restore
//
// The order within run is what makes a cover true. The marker is read first, in a
// statement of its own; then one REPEATABLE READ transaction exports its snapshot,
// the marker takes that snapshot's text, and pg_dump dumps that snapshot. What
// commits in between is in the dump and not in the marker, so it costs one more
// backup and is never taken for covered.
//
// A stream's end never means that it is whole. pg_dump's failure is a read error, a
// ciphertext that was cut is an error of our own and never io.EOF or
// io.ErrUnexpectedEOF, and nothing is published before the child has exited 0, zstd
// and age are closed, and sizes agree.
//
// No plaintext touches a disk. Passwords reach pg_dump through libpq's own files,
// never through arguments or the environment.
package backup
