package loop

import "sync"

// lane lets a few items of one work type work at a time, in the order they came. Each
// type has its own, so that a dump holds back no notice.
type lane struct {
	mu    sync.Mutex
	free  int
	queue []*turn
}

// turn is one item's place in a lane. Its channel is closed when the place is taken.
type turn struct{ come chan struct{} }

func newLane(places int) *lane { return &lane{free: max(places, 1)} }

// join stands at the end of the queue.
func (l *lane) join() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &turn{make(chan struct{})}
	if l.free > 0 {
		l.free--
		close(t.come)
	} else {
		l.queue = append(l.queue, t)
	}
	return t
}

// leave gives the place back, taken or still waited for.
func (l *lane) leave(t *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, waiting := range l.queue {
		if waiting == t {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			return
		}
	}
	if len(l.queue) == 0 {
		l.free++
		return
	}
	close(l.queue[0].come)
	l.queue = l.queue[1:]
}
