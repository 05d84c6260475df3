// Package lease is the protocol by which one worker at a time holds a piece of work,
// and by which its outward actions fire at most once.
//
// # States
//
// A Store keeps items. An item's Step says which half of the work is next: run does
// it, verify proves it. Every change of state writes a Receipt onto the item's chain.
//
//	state         leaves by              to
//	queued        Claim                  leased, under a new fence
//	leased        Start                  leased; from here on a crash is charged
//	leased/run    Finish                 leased/verify, the result is kept
//	leased/verify Complete               done; its scope is covered
//	leased        Fail transient         queued after a wait, same step, or quarantined
//	leased        Fail blocked           queued after a flat wait, nothing charged
//	leased/verify Fail refuted           queued/run, result dropped, or quarantined
//	leased        Fail permanent         failed
//	leased        GiveBack               queued at once, same step, or quarantined
//	leased, over  Reclaim                queued, same step, or quarantined
//
// done, failed and quarantined are ends; only an operator, or the policy of the work
// type, puts failed or quarantined work back.
//
// # Holding
//
// A Holder is item, fence and owner, and all three have to match an unexpired lease in
// the one statement that changes anything. A fence only grows, so a stale worker is
// told ErrLost whatever it tries. An expired lease is lost before it is reclaimed. The
// store's clock decides; hosts send durations.
//
// A worker relies on its lease for its trust window only:
//
//	call begins          renew            trust ends    lease ends (store)
//	|--------- TTL/3 ----|----- retries ----|--- TTL/6 ---|
//
// The window is counted from the moment when the renewing call began, on the boot
// clock, which also runs while the machine sleeps: neither a slow reply nor a suspend
// stretches it. A Keeper renews all leases of a process in one call, asks again when
// the store cannot be reached (that is not a lost lease), and cancels the work of a
// lease that cannot be trusted any more, with cause ErrLost. The last sixth is there to
// stop in.
//
// # Acting
//
// What cannot be taken back goes through a Guard. It claims an intent in the statement
// that checks the fence, acts, and keeps the evidence. An intent is keyed by what the
// action is to the business, so a retry, another worker and another item meet the same
// one. What surely did not fire is abandoned and may fire again; what may have fired
// stays open until the outside world was asked. Evidence of what has fired is kept even
// when the lease is gone.
//
// # Never
//
// The package never takes an error for a lost lease, nor a lost lease for an error;
// never compares clocks of two machines; never fires on a doubt; knows no SQL and no
// kind of work. Package leasetest checks a store against all of this; Memory is the one
// that needs no database.
package lease
