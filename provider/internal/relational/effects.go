package relational

import (
	"maps"
	"math"

	"github.com/perdure/perdure/provider"
)

// Effects are what other calls and processes learn once the transaction is durable.
type Effects struct {
	Turns      map[int64]struct{} // kinds of instances that became fetchable
	Tasks      map[int64]struct{} // kinds of tasks that became fetchable
	Freed      map[int64]struct{} // kinds of tasks whose lease ended; nil for none
	Expired    bool               // a task may be past its deadline
	Asks       bool               // a question was stored
	Due        provider.Time      // the next time at which something becomes fetchable without a commit
	ElapsedDue int64              // the same on the lease clock
	Created    []provider.UUID    // new instances
	Changed    []provider.UUID    // instances that ended, were blocked or are gone
	Values     []Followed         // key-values that were set or removed
	Answers    []Answer
	Notices    []provider.Notice
	Dropped    int64
	Commits    int64 // of turns
}

// Answer is the answer to a question.
type Answer struct {
	ID      provider.UUID
	Payload []byte
	Now     provider.Time
	Unread  bool // the asker must read the rest in the store
}

// Never is a time that does not come.
const Never = math.MaxInt64

// NewEffects returns empty effects.
func NewEffects() Effects {
	return Effects{
		Turns: make(map[int64]struct{}), Tasks: make(map[int64]struct{}), Due: Never, ElapsedDue: Never,
	}
}

// Reset empties published effects. It keeps the maps and drops the lists, which others may hold.
func (fx *Effects) Reset() {
	clear(fx.Turns)
	clear(fx.Tasks)
	*fx = Effects{Turns: fx.Turns, Tasks: fx.Tasks, Due: Never, ElapsedDue: Never}
}

// Merge adds the effects of a later member.
func (fx *Effects) Merge(o *Effects) {
	for k := range o.Turns {
		fx.Turns[k] = struct{}{}
	}
	for k := range o.Tasks {
		fx.Tasks[k] = struct{}{}
	}
	if fx.Freed == nil {
		fx.Freed = o.Freed
	} else {
		maps.Copy(fx.Freed, o.Freed)
	}
	fx.Expired, fx.Asks = fx.Expired || o.Expired, fx.Asks || o.Asks
	fx.Due, fx.ElapsedDue = min(fx.Due, o.Due), min(fx.ElapsedDue, o.ElapsedDue)
	fx.Created, fx.Values = append(fx.Created, o.Created...), append(fx.Values, o.Values...)
	fx.Changed, fx.Answers, fx.Notices = append(fx.Changed, o.Changed...), append(fx.Answers, o.Answers...), append(fx.Notices, o.Notices...)
	fx.Dropped += o.Dropped
	fx.Commits += o.Commits
}

// Free records that a task of the kind is no longer leased.
func (fx *Effects) Free(kind int64) {
	if fx.Freed == nil {
		fx.Freed = make(map[int64]struct{})
	}
	fx.Freed[kind] = struct{}{}
}

// MarkChanged records a change that calls waiting for the instance must see.
func (fx *Effects) MarkChanged(key provider.UUID) { fx.Changed = append(fx.Changed, key) }

// WakeElapsed makes waiting fetches look again at a time on the lease clock.
func (fx *Effects) WakeElapsed(at int64) { fx.ElapsedDue = min(fx.ElapsedDue, at) }

// wake makes waiting fetches look again at a time.
func (fx *Effects) wake(at provider.Time) { fx.Due = min(fx.Due, at) }

// notice records a notice for the holder of a task, or of all tasks of an execution if event is 0.
func (fx *Effects) notice(key provider.UUID, execution, event int64) {
	fx.Notices = append(fx.Notices, provider.Notice{Key: key, Execution: execution, EventID: event})
}
