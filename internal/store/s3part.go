package store

import (
	"fmt"

	"github.com/heyaira/heyaira-loop/lease"
)

// S3's bounds of an upload, which R2 shares. All parts but the last have one size on
// R2, so it is chosen before the first is sent.
const (
	minPartSize = 5 << 20
	maxPartSize = 5 << 30
	maxParts    = 10_000
)

// A part is at least floorPartSize, which is enough for 156 GiB, and a whole number of
// grains.
const (
	floorPartSize = 16 << 20
	grain         = 1 << 20
)

// partSizeFor answers the size of the parts for an object of about size bytes (0:
// unknown). It leaves a margin of a thirty-second: a size is an estimate.
func partSizeFor(size int64) int64 {
	part := (size + size/32 + maxParts - 1) / maxParts
	part = (part + grain - 1) / grain * grain
	return min(max(part, floorPartSize), maxPartSize)
}

// tooManyParts is the error of an object that outgrew its upload. Trying again would
// end the same.
func tooManyParts(key string, part int64) error {
	size := min((2*part+grain-1)/grain, maxPartSize/grain)
	return lease.WithClass(lease.Permanent, &advised{
		what:   "write " + key,
		advice: fmt.Sprintf("set part_size: %dMiB for the store; an upload holds three parts in memory", size),
		cause:  fmt.Errorf("it is larger than %d parts of %d bytes, and they all have one size", maxParts, part),
	})
}
