package loop

import "testing"

// here tells whether a turn has come.
func here(t *turn) bool {
	select {
	case <-t.come:
		return true
	default:
		return false
	}
}

func TestLaneServesInOrderAndPassesOverWhoLeft(t *testing.T) {
	t.Parallel()
	l := newLane(2)
	var turns []*turn
	for range 5 {
		turns = append(turns, l.join())
	}
	check := func(want ...bool) {
		t.Helper()
		for i, turn := range turns {
			if here(turn) != want[i] {
				t.Errorf("turn %d: got %v, want %v", i, here(turn), want[i])
			}
		}
	}
	check(true, true, false, false, false)
	l.leave(turns[2]) // was waiting
	check(true, true, false, false, false)
	l.leave(turns[0])
	check(true, true, false, true, false)
	l.leave(turns[1])
	check(true, true, false, true, true)
	l.leave(turns[3])
	l.leave(turns[4])
	if last := l.join(); !here(last) {
		t.Error("an empty lane has no place")
	}
	if last := newLane(0).join(); !here(last) {
		t.Error("a lane without a number has no place")
	}
}
