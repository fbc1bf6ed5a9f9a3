package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// Throttle keeps what all nodes begin of a queue to a rate. They share one record: the moment at which the next activity may
// begin. A node first fetches a few tasks, then reserves as many moments with one write, and begins each task at its own. So an idle
// queue costs nothing. A node releases what it fetched in vain, with the delay that the record gives. The mutex of Pools guards it.
type Throttle struct {
	queue    string
	pace     pace // next: when this node may fetch again
	reserves bool // moments are being reserved
}

// Where the records of rates are.
const rateSpace = "perdure.rate"

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

// Reserve takes up to n moments of a queue, those within patience, and returns the first by this node's clock.
func (p *Pools) Reserve(ctx context.Context, store *storage.Store, t *Throttle, n int, patience time.Duration) (first time.Time, reserved int, err error) {
	ctx, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	next := time.Now().Add(storage.Backoff(1)) // if the storage does not respond
	defer func() { p.reserved(t, next) }()
	patience = min(maxPatience, patience)
	for {
		get := provider.RecordRequest{Action: provider.RecordGet, Namespace: rateSpace, Key: t.queue}
		res, err := store.Record(ctx, get)
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			return first, 0, fmt.Errorf("rate of queue %q: %w", t.queue, err)
		}
		answered, at, put := time.Now(), res.Now, get
		if len(res.Records) > 0 {
			put.Expect = res.Records[0].Version
			if next := stored(res.Records[0].Value); next <= res.Now.Add(t.furthest()) {
				at = max(at, next)
			}
		}
		first, next = answered.Add(at.Sub(res.Now)), answered.Add(at.Sub(res.Now)-lookAhead)
		near := patience - at.Sub(res.Now)
		if near < 0 {
			return first, 0, nil
		}
		reserved = min(n, int(near/t.pace.interval)+1)
		after := at.Add(time.Duration(reserved) * t.pace.interval)
		put.Action, put.Value = provider.RecordPut, binary.BigEndian.AppendUint64(nil, uint64(after))
		switch _, err := store.Record(ctx, put); {
		case err == nil:
			next = answered.Add(after.Sub(res.Now) - lookAhead)
			return first, reserved, nil
		case !errors.Is(err, provider.ErrConflict): // it may be stored even so: some moments pass unused
			return first, 0, fmt.Errorf("rate of queue %q: %w", t.queue, err)
		}
	}
}

// stored reads a record of a rate.
func stored(value []byte) provider.Time {
	if len(value) != 8 {
		return 0
	}
	return provider.Time(binary.BigEndian.Uint64(value))
}
