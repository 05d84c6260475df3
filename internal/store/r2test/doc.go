// Package r2test is a bucket that behaves like Cloudflare R2 and misbehaves on demand,
// for tests of what is built on package store.
//
// The objects are kept by gofakes3, in memory, over TLS. A handler before it holds
// clients to what R2 asks for and S3 does not:
//
//   - all parts of an upload but the last have one size, of 5 MiB at least, and the
//     last is no larger;
//   - ETags are random, and If-Match compares them;
//   - aws-chunked bodies, trailers, tags, ACLs and object lock headers are refused;
//   - more than one write a second to one key is answered 429;
//   - what a bucket lock retains is neither deleted nor overwritten, by no way;
//   - If-None-Match is honoured on plain puts and ignored on completions.
//
// A Fault is one thing that goes wrong: which operation, which time, what happens. A
// Sink forgets the bytes it is sent and keeps their count, for streams larger than the
// memory of the machine.
//
// # Other servers
//
// The contract of package store also runs against versitygw, a server of another
// make, where it is installed:
//
//	go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
//	go test -run Versity ./internal/store
//
// The tests look for it on PATH and in Go's folder of programs, and are skipped where
// it is in neither. A bucket at a provider is tried with `heyaira-loop verify --store`.
package r2test
