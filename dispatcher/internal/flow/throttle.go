package flow

import "time"

// Throttle keeps what all nodes begin of a queue to a rate. They share one record: the moment at which the next activity may
// begin. A node first fetches a few tasks, then reserves as many moments with one write, and begins each task at its own. So an idle
// queue costs nothing. A node releases what it fetched in vain, with the delay that the record gives. The mutex of Pools guards it.
type Throttle struct {
	queue    string
	pace     pace // next: when this node may fetch again
	reserves bool // moments are being reserved
}

// lookAhead is how much earlier than an activity may begin it is fetched.
const lookAhead = burst

// maxPatience is the longest that an activity is held until its moment. It holds a slot that others may need, on every node.
const maxPatience = 2 * lookAhead

// furthest returns how far ahead of now the record of the next moment can be, doubled to be sure. A record that is further ahead was written
// before a clock was set back or at a lower rate, and says nothing.
func (t *Throttle) furthest() time.Duration { return 2 * (maxPatience + max(burst, t.pace.interval)) }

// Interval returns the time between two activities.
func (t *Throttle) Interval() time.Duration { return t.pace.interval }

// room returns how many activities may be fetched now. If none may, again is when to look, or zero until the moments are reserved.
func (t *Throttle) room(limit int, now time.Time) (room int, again time.Time) {
	switch {
	case t.reserves:
		return 0, time.Time{}
	case now.Before(t.pace.next):
		return 0, t.pace.next
	}
	return min(limit, t.pace.within(burst)), time.Time{}
}
