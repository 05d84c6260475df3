package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// recordWithin bounds the recording of an effect's end, which must not be cut short
	// by the cancellation that ended the work.
	recordWithin = 15 * time.Second
	// recordPause is the wait before it is sent again; both statements may be.
	recordPause = 500 * time.Millisecond
)

type notFired struct{ error }

func (n *notFired) Unwrap() error { return n.error }

// NotFired marks an act's error: it surely did not fire, and nothing of it can arrive
// late. Without the mark the act may have fired. nil stays nil.
func NotFired(err error) error {
	if err == nil {
		return nil
	}
	return &notFired{err}
}

// Permit is the right to fire one claimed effect. Fire or Abandon uses it up.
type Permit struct {
	guard *Guard
	key   string
	state permitState // guarded by the guard's lock
}

type permitState int

const (
	unfired permitState = iota // claimed, or perhaps claimed: the reply was lost
	firing                     // may have fired
	settled                    // its end is recorded
)

// Fire acts and records what became of it, on a context that survives ctx, lease or no
// lease. The evidence is answered also when recording it failed, beside the error. An
// act that ends with a NotFired error gives the effect up, so that it can be claimed
// again; any other error leaves the intent open, and it never fires again unasked.
// Once ctx has ended nothing is fired.
func (p *Permit) Fire(ctx context.Context, act func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("fire effect %s: %w", p.key, context.Cause(ctx))
	}
	if !p.guard.begin(p) {
		return nil, fmt.Errorf("fire effect %s: its permit is used up", p.key)
	}
	evidence, err := act(ctx)
	if err == nil {
		return evidence, p.commit(ctx, evidence)
	}
	if sure := (*notFired)(nil); errors.As(err, &sure) {
		return nil, errors.Join(err, p.giveUp(ctx))
	}
	return nil, err
}

// Abandon gives up an effect that was not fired.
func (p *Permit) Abandon(ctx context.Context) error {
	if !p.guard.begin(p) {
		return fmt.Errorf("abandon effect %s: its permit is used up", p.key)
	}
	return p.giveUp(ctx)
}

func (p *Permit) commit(ctx context.Context, evidence json.RawMessage) error {
	err := record(ctx, func(ctx context.Context) error {
		return p.guard.effects.Commit(ctx, p.key, p.guard.held.Fence, evidence)
	})
	if err != nil {
		return fmt.Errorf("commit effect %s: %w", p.key, err)
	}
	p.guard.set(p, settled)
	return nil
}

// giveUp leaves the effect unfired where that could not be recorded, so that GiveBack
// still knows of it.
func (p *Permit) giveUp(ctx context.Context) error {
	err := record(ctx, func(ctx context.Context) error {
		return p.guard.effects.Abandon(ctx, p.key, p.guard.held.Fence)
	})
	if err != nil {
		p.guard.set(p, unfired)
		return fmt.Errorf("abandon effect %s: %w", p.key, err)
	}
	p.guard.set(p, settled)
	return nil
}

// record sends a statement again until its answer is known or the time is over.
func record(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	for {
		err := send(ctx)
		if err == nil || errors.Is(err, ErrLost) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(recordPause):
		}
	}
}
