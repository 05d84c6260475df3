package lease_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/heyaira/heyaira-loop/lease/leasetest"
)

// TestBrokenStoresAreCaught holds the suite to account: each twin lacks one guard, and
// the property beside it has to fail.
func TestBrokenStoresAreCaught(t *testing.T) {
	t.Parallel()
	properties := map[string]leasetest.Property{}
	for _, p := range leasetest.Properties() {
		properties[p.Name] = p
	}
	for _, twin := range []struct {
		name     string
		property string
		breaks   func(h memory) leasetest.Handle
	}{
		{"hands an item out twice", "MutualExclusion", doubling},
		{"forgets the cap", "CapIsExactUnderConcurrentClaims", capless},
		{"starts a document again and again", "DocumentReadTwiceStartsOnce", restarting},
		{"forgets that leases expire", "StaleWorkerCannotCommit", immortal},
		{"does not ask for the owner", "StaleWorkerCannotCommit", ownerless},
		{"does not ask for the fence", "StaleWorkerCannotCommit", fenceless},
		{"answers for the lost as well", "StaleHolderSpoilsNoOther", generous},
		{"charges a crash to what never began", "CrashIsChargedOnlyToStartedWork", eager},
		{"charges blocked work", "BlockedChargesNothing", relabelling},
		{"keeps a refuted result", "RefutedDropsTheResultAndBurnsTheGeneration", relabelling},
		{"tries bad input again", "PermanentFailureIsNeverTriedAgain", relabelling},
		{"covers in the order of the proofs", "CoverageMovesOnlyToANewerTicket", reordering},
		{"lets everybody fire", "RetriesDoNotDuplicateOutwardActions", trigger},
		{"lets verify fire what run did", "VerifyDoesNotFireWhatRunLeftOpen", trigger},
		{"wants a lease for evidence", "EvidenceIsKeptAfterTheLeaseIsLost", strict},
		{"loses late evidence in silence", "EvidenceIsKeptAfterTheLeaseIsLost", silent},
		{"keeps unfired effects on give back", "GiveBackAbandonsUnfiredEffects", clinging},
		{"judges the living", "OnlyTheDeadAreSettled", hasty},
	} {
		t.Run(twin.name, func(t *testing.T) {
			t.Parallel()
			property, known := properties[twin.property]
			if !known {
				t.Fatalf("there is no property %s", twin.property)
			}
			h := newMemory()
			if passes(t, property, broken{h, twin.breaks(h)}) {
				t.Errorf("%s passes a store that %s", twin.property, twin.name)
			}
		})
	}
}

func TestChangedReceiptsAreCaught(t *testing.T) {
	t.Parallel()
	for _, property := range leasetest.Properties() {
		if property.Name == "ReceiptsReconcileWithTheFinalRow" && passes(t, property, tampering{newMemory()}) {
			t.Error("a receipt of another kind was not noticed")
		}
	}
}

// passes tells whether a property holds, without failing t.
func passes(t testing.TB, property leasetest.Property, h leasetest.Harness) bool {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		property.Check(r, h)
	}()
	<-done
	return !r.failed.Load()
}

type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Errorf(string, ...any) { r.failed.Store(true) }
func (r *recorder) Fatal(...any)          { r.failed.Store(true); runtime.Goexit() }
func (r *recorder) Fatalf(string, ...any) { r.failed.Store(true); runtime.Goexit() }

// broken is the memory's harness with another handle.
type broken struct {
	memory
	handle leasetest.Handle
}

func (b broken) Open(testing.TB) leasetest.Handle { return b.handle }

// tampering changes one stored receipt.
type tampering struct{ memory }

func (h tampering) Events(t testing.TB, item int64) []leasetest.Event {
	events := h.memory.Events(t, item)
	events[len(events)-1].Kind = "done and dusted"
	return events
}
