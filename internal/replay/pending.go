package replay

import "slices"

// operations are the activities, timers and children that code waits for, by the event that began them.
type operations struct {
	futures    map[int64]*Future
	due        map[int64]int64 // time limits of children, by event ID; nil: none
	activities int             // an abandoned one counts until the execution ends, as its task may exist that long
}

func (o *operations) addActivity(id int64, f *Future, name string) {
	o.activities++
	f.counts, f.activity = true, name
	o.futures[id] = f
}

// take removes and returns the future of an event, nil if code does not wait for it.
func (o *operations) take(id int64) *Future {
	f := o.futures[id]
	delete(o.futures, id)
	return f
}

// Child names a child instance by the event that started it.
type Child struct {
	EventID int64
	Key     [16]byte
}

// children lists the children whose end is awaited, or that continue without code that waits, by event ID. Those that outlive the execution
// are left out.
func (o *operations) children() []Child {
	var children []Child
	for id, f := range o.futures {
		if f.child != ([16]byte{}) && !f.outlives {
			children = append(children, Child{EventID: id, Key: f.child})
		}
	}
	slices.SortFunc(children, func(a, b Child) int { return int(a.EventID - b.EventID) })
	return children
}
