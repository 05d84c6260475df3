package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// Instant is a moment of CLOCK_BOOTTIME, which also counts the time that the machine
// was suspended. It measures durations within one boot of one machine only.
type Instant time.Duration

// Now reads the boot clock.
func Now() Instant {
	var at unix.Timespec
	// The clock is there since Linux 2.6.39; the call cannot fail.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &at)
	return Instant(at.Nano())
}

// Add is the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the time from earlier to i.
func (i Instant) Sub(earlier Instant) time.Duration { return time.Duration(i - earlier) }

// trust is for how long after a renewing call began its lease is relied on. A sixth is
// left for what the two clocks differ by and for the work to be stopped in.
func trust(ttl time.Duration) time.Duration { return ttl - ttl/6 }
