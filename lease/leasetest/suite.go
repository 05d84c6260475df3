package leasetest

import "testing"

// Property is one thing that every store must hold to.
type Property struct {
	Name string
	hold func(w *world)
}

// Check fails t where a fresh store does not hold to the property, or where its
// receipts do not reconcile with its rows afterwards.
func (p Property) Check(t testing.TB, h Harness) {
	t.Helper()
	w := newWorld(t, h)
	p.hold(w)
	for _, item := range w.items {
		w.reconcile(item)
	}
}

// Properties lists them all.
func Properties() []Property {
	return []Property{
		// The five safety properties.
		{"MutualExclusion", mutualExclusion},
		{"KilledWorkerIsRecoveredUpToACeiling", killedWorkerRecovery},
		{"StaleWorkerCannotCommit", staleWorkerCannotCommit},
		{"RetriesDoNotDuplicateOutwardActions", retriesDoNotDuplicate},
		{"ReceiptsReconcileWithTheFinalRow", receiptsReconcile},

		{"CapIsExactUnderConcurrentClaims", capIsExact},
		{"CapPerHostIsExact", capPerHostIsExact},
		{"ClaimTakesOnlyWhatWasAskedFor", claimTakesOnlyWhatWasAskedFor},
		{"ScopesTakeTurns", scopesTakeTurns},
		{"DocumentReadTwiceStartsOnce", documentReadTwiceStartsOnce},
		{"RenewalFollowsThePolicyInForce", renewalFollowsThePolicy},
		{"StaleHolderSpoilsNoOther", staleHolderSpoilsNoOther},

		{"CrashIsChargedOnlyToStartedWork", crashChargedOnlyAtStart},
		{"VerifyThatDiedKeepsItsResult", verifyThatDiedKeepsItsResult},
		{"FarExpiryIsPulledBack", farExpiryIsPulledBack},
		{"ReclaimStopsAtItsLimit", reclaimStopsAtItsLimit},

		{"TransientFailureEndsAtTheCeiling", transientFailureEndsAtTheCeiling},
		{"PermanentFailureIsNeverTriedAgain", permanentFailureIsFinal},
		{"BlockedChargesNothing", blockedChargesNothing},
		{"RefutedDropsTheResultAndBurnsTheGeneration", refutedBurnsTheGeneration},
		{"EndlessGiveBacksComeToAnEnd", endlessGiveBacksEnd},

		{"CoverageMovesOnlyToANewerTicket", coverageMovesOnlyToANewerTicket},
		{"WhatCoversNothingEndsDone", whatCoversNothingEndsDone},
		{"ResultWithoutACaptureCoversNothing", resultWithoutACapture},

		{"IntendAlwaysAnswersWithAWord", intendAnswersWithAWord},
		{"VerifyDoesNotFireWhatRunLeftOpen", verifyDoesNotFireWhatRunLeftOpen},
		{"EvidenceIsKeptAfterTheLeaseIsLost", evidenceIsKept},
		{"GiveBackAbandonsUnfiredEffects", giveBackAbandonsUnfired},
		{"OnlyTheDeadAreSettled", onlyTheDeadAreSettled},
	}
}

// Run checks every property as a subtest, each on a harness of its own.
func Run(t *testing.T, fresh func(t testing.TB) Harness) {
	t.Helper()
	for _, p := range Properties() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			p.Check(t, fresh(t))
		})
	}
}
