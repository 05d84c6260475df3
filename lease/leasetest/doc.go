// Package leasetest holds the safety properties of the lease protocol as one suite
// that every lease.Store must pass.
//
// A store's own test gives Run a Harness: the store and a few levers (queue work,
// move a row's time, read rows). Each property is a subtest that is named after it
// and gets a fresh store. The suite waits for nothing and reads no clock of its own:
// where a lease has to end, the row's time is moved.
package leasetest
