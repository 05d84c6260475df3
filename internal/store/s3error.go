package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heyaira/heyaira-loop/lease"
)

// ErrRetained says that the store keeps an object, by a lock rule of its bucket.
var ErrRetained = errors.New("a lock rule of the bucket retains it")

var (
	errNoBucket   = errors.New("no such bucket")
	errStillThere = errors.New("it is still there")
	errNoSize     = errors.New("the store does not say how large it is")
	errNoTag      = errors.New("the store took a part and gave no tag for it")
	errChanged    = errors.New("it was replaced while it was read")
	errNoRange    = errors.New("the store answered another range than was asked for")
	errOutOfOrder = errors.New("the store lists keys out of order")
	errNotKept    = errors.New("the store took it and does not have it")
)

// isOurs tells whether an error is a finding of ours, which asking again does not change.
func isOurs(err error) bool {
	return slices.ContainsFunc([]error{
		ErrNotFound, ErrExists, errNoBucket, errStillThere, errNoSize, errNoTag, errChanged, errNoRange, errOutOfOrder,
		errNotKept, errNotStore, errLongReply, errEnded,
	}, func(ours error) bool { return errors.Is(err, ours) })
}

// fail names what failed and gives the error its class.
func (s *S3) fail(ctx context.Context, verb, key string, err error) error {
	what := verb + " " + key
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	var named *advised
	if errors.As(err, &named) {
		return err
	}
	advice := s.advice(err)
	if advice == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return lease.WithClass(lease.Blocked, &advised{what, advice, err})
}
