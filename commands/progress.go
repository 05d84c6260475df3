package commands

import (
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"

	"github.com/heyaira/heyaira-loop/lease"
)

// logEvery is how often progress is logged, for each item.
const logEvery = 30 * time.Second

// progress shows how far a step has come: a bar on a terminal, else lines of the log,
// which a quiet log level leaves out.
type progress struct {
	bar  *progressbar.ProgressBar // nil: no bar
	line func() *zerolog.Event    // nil: no lines

	mu    sync.Mutex
	items map[int64]reached
}

type reached struct {
	bytes  int64
	logged time.Time
}

func newProgress(env *Env, how string) (*progress, error) {
	p := &progress{items: make(map[int64]reached)}
	switch how {
	case "auto":
		if terminal(env.Err) {
			p.bar = newBar(env)
		} else {
			p.line = env.Log.Info
		}
	case "bar":
		p.bar = newBar(env)
	case "log":
		// Asked for by name, it is written at every level.
		p.line = env.Log.Log
	case "none":
	default:
		return nil, misuse("it is one of auto, bar, log, none", "flag --progress: unknown way %q", how)
	}
	return p, nil
}

// newBar is a bar without an end: nobody knows how long a dump will be.
func newBar(env *Env) *progressbar.ProgressBar {
	return progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(env.Err),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionSetSpinnerChangeInterval(0), // moves when bytes do, without a goroutine
		progressbar.OptionSpinnerType(14),
	)
}

// report is loop's StepOptions.Progress.
func (p *progress) report(item lease.Item, stage string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, at := time.Now(), p.items[item.Item]
	at.bytes = bytes
	if p.line != nil && now.Sub(at.logged) >= logEvery {
		at.logged = now
		p.line().Str("work_type", item.WorkType).Str("scope", item.Scope).Int64("item", item.Item).
			Str("stage", stage).Int64("bytes", bytes).Msg("progress")
	}
	p.items[item.Item] = at
	if p.bar == nil {
		return
	}
	what := item.Scope + " " + stage
	if len(p.items) > 1 {
		what = fmt.Sprintf("%d items", len(p.items))
	}
	var sum int64
	for _, item := range p.items {
		sum += item.bytes
	}
	// A bar that cannot be drawn is no reason to stop the work.
	p.bar.Describe(what)
	_ = p.bar.Set64(sum)
}

// end takes an item out and clears the bar's line for what is told of it.
func (p *progress) end(item lease.Item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.items, item.Item)
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
