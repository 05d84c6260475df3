package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/heyaira/heyaira-loop/lease"
	"github.com/heyaira/heyaira-loop/ledger"
)

// end tells how an item ended, down the pipe and to the caller. When nobody reads the
// pipe, what has run is given back: its result stays, and the next beat verifies it.
func (s *step) end(ctx context.Context, e End) {
	if s.out != nil {
		var goesOn *lease.Holder
		if e.Outcome == lease.Ran {
			goesOn = &e.Holder
		}
		line, err := Document(e.Item, e.Outcome)
		if err == nil {
			err = s.out.write(line, goesOn)
		}
		if err != nil {
			s.fault(StatusFailed, err)
		}
		if err != nil && goesOn != nil {
			e = s.giveBack(ctx, e.Item, nil, nil, e.Holder)
		}
	}
	s.tell(e)
}

// closeStream ends the stream of documents. Where its reader has gone, what it did not start
// is given back.
func (s *step) closeStream(ctx context.Context) {
	if s.out == nil {
		return
	}
	if err := s.out.end(string(s.kind), s.status); err != nil {
		s.fault(StatusFailed, err)
	}
	left := s.out.left()
	if len(left) == 0 {
		return
	}
	ctx, cancel := cleanup(ctx)
	defer cancel()
	err := s.ready(ctx)
	if err == nil {
		_, err = s.db.GiveBack(ctx, left, nil)
	}
	if err != nil {
		s.fault(ErrorStatus(err), fmt.Errorf("give back %d items: %w", len(left), err))
	}
}

// tell counts how an item ended and tells the caller.
func (s *step) tell(e End) {
	e.Status = s.standsFor(e)
	s.note(e.Status)
	if s.o.Ended == nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	s.o.Ended(e)
}

// standsFor is the status of an item's end.
func (s *step) standsFor(e End) int {
	status := OutcomeStatus(e.Outcome)
	switch {
	case e.Err == nil:
	case lease.ClassOf(e.Err) == lease.Refuted && s.kind == lease.Verify:
		return Worst(status, StatusRefuted) // also where the ceiling was reached
	case errors.Is(e.Err, ledger.ErrRefused):
		return Worst(status, StatusRefused)
	case errors.Is(e.Err, ledger.ErrUnreachable) && e.Outcome == lease.BlockedWait:
		return StatusUnreachable // nothing was done
	case errors.Is(e.Err, ledger.ErrUnreachable):
		return Worst(status, StatusUnreachable)
	}
	return status
}

func (s *step) note(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = Worst(s.status, status)
}

// fault keeps an error that is not the outcome of an item.
func (s *step) fault(status int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = Worst(s.status, status)
	for _, one := range s.faults {
		if one.Error() == err.Error() {
			return // a reader that went away is told once
		}
	}
	if len(s.faults) == maxFaults {
		s.untold++
		return
	}
	s.faults = append(s.faults, err)
}
