// Package loop has the steps of the loop, one file each: tick, claim, run, verify
// and reclaim, and the contract that a consumer of the loop fulfils.
//
//	tick ──► claim ──► run ──► verify            reclaim
//
// Each step is called once, does its work against the ledger and returns; nothing is
// kept between two calls. claim, run and verify are joined by lease documents, one
// JSON object a line. Of a document only the holder (item, fence, owner) and the
// step are believed; the rest comes from the ledger's row when the step starts.
//
// Every stream of documents ends with a line that says how many there were and what
// status the step before has, so a step that was killed is noticed by the one after
// it, and the worst status reaches the end of the pipe.
//
// An item in a step is waiting (renewed, not started), started (its consumer works
// under a context that ends with cause lease.ErrLost) or ended, and then it has
// exactly one outcome. What the ledger does not confirm is never reported as done.
package loop
