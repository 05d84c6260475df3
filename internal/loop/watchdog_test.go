package loop

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heyaira/heyaira-loop/lease"
)

func TestWatchdogEndsWorkThatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, dog := watch(t.Context(), time.Hour, time.Minute)
		defer dog.stop()
		for bytes := int64(1); ctx.Err() == nil; bytes++ {
			dog.report("dump", bytes)
			time.Sleep(time.Second)
		}
		if cause := context.Cause(ctx); lease.ClassOf(cause) != lease.Transient || !strings.Contains(cause.Error(), "timeout of 1h0m0s") {
			t.Errorf("got %v", cause)
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestWatchdogEndsWorkThatStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, dog := watch(t.Context(), 0, time.Minute)
		defer dog.stop()
		for bytes := range int64(10) {
			time.Sleep(59 * time.Second)
			dog.report("dump", bytes+1)
		}
		dog.report("upload", 10) // a new stage is progress
		began := time.Now()
		for ctx.Err() == nil {
			dog.report("upload", 10) // the same numbers again are none
			time.Sleep(time.Second)
		}
		if cause := context.Cause(ctx); lease.ClassOf(cause) != lease.Transient || !strings.Contains(cause.Error(), "nothing moved for 1m0s") {
			t.Errorf("got %v", cause)
		}
		if took := time.Since(began); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("ended after %s", took)
		}
	})
}

func TestWatchdogIsNoCauseOnceStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, dog := watch(t.Context(), time.Hour, time.Hour)
		dog.stop()
		dog.report("dump", 1)
		time.Sleep(2 * time.Hour)
		if cause := context.Cause(ctx); cause != context.Canceled {
			t.Errorf("got %v", cause)
		}
	})
}
