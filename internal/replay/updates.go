package replay

import (
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

const (
	// maxKnownUpdates is how many IDs of updates an instance remembers.
	maxKnownUpdates = 10_000
	// maxShownNames bounds the names of handlers that a refused update lists.
	maxShownNames = 100
	// maxUpdateChanges bounds the outcomes of updates in one commit. A turn with as many takes no further message.
	maxUpdateChanges = 1_000
)

// updates are those of one execution. Nil until the first one or the first handler.
type updates struct {
	handlers  map[string]*updateHandler // by name
	any       *updateHandler            // of all other names; nil: none
	open      map[string]*openUpdate    // by ID: those without an outcome
	pending   []*openUpdate             // of open: no handler has decided about them, oldest first
	known     updateIDs
	panicked  map[string]string // see PanickedUpdates
	changes   []history.UpdateState
	changed   map[string]int        // place in changes by ID
	repeats   []history.UpdateState // of IDs that are known
	fresh     int                   // bytes of changes
	bytes     int                   // of names
	openBytes int
}

// show notes the stage of an update for the commit.
func (us *updates) show(u *openUpdate, stage int64) {
	us.note(us.state(u, stage))
}

func (us *updates) state(u *openUpdate, stage int64) history.UpdateState {
	s := history.UpdateState{Outcome: stage, Name: u.body.Name, ID: u.body.ID, At: u.at}
	s.Show(u.body.Input)
	return s
}

// note notes what the commit must store of an update, in place of what it was before.
func (us *updates) note(s history.UpdateState) {
	if i, ok := us.changed[s.ID]; ok {
		us.fresh += stateBytes(&s) - stateBytes(&us.changes[i])
		us.changes[i] = s
		return
	}
	us.fresh += stateBytes(&s)
	us.changed = with(us.changed, s.ID, len(us.changes))
	us.changes = append(us.changes, s)
}

// stateBytes estimates the bytes of a state in a commit.
func stateBytes(s *history.UpdateState) int {
	return 64 + len(s.Name) + len(s.ID) + len(s.Input) + len(s.Output) + 16*len(s.Names) + failureBytes(s.Failure)
}

// refuse notes an outcome of an update that becomes no event.
func (us *updates) refuse(b *history.UpdateReceived, at, outcome int64, why *history.Failure) {
	s := us.state(&openUpdate{body: b, at: at}, outcome)
	s.Ended, s.Failure = at, why
	if outcome == history.UpdateUnknown {
		s.Names = us.names()
	}
	us.note(s)
}

// end notes the outcome of an update that was received.
func (us *updates) end(u *openUpdate, at, outcome int64, output []byte, why *history.Failure) {
	s := us.state(u, outcome)
	s.Ended, s.Output, s.Failure = at, output, why
	if outcome == history.UpdateUnknown {
		s.Names = us.names()
	}
	us.note(s)
	delete(us.open, u.body.ID)
	us.openBytes -= int(history.Size(u.body))
}

// turn returns what the commit must store. An execution that has ended rejects what it has not decided about.
func (us *updates) turn(x *Execution) (changes, repeats []history.UpdateState) {
	if us == nil {
		return nil, nil
	}
	if x.end != nil && x.end.Next == nil {
		for _, u := range us.pending {
			us.end(u, x.now, history.UpdateEnded, nil, nil)
		}
		us.pending = nil
	}
	return us.changes, us.repeats
}

// forget forgets what is stored.
func (us *updates) forget() {
	if us != nil {
		us.changes, us.changed, us.repeats, us.fresh = nil, nil, nil, 0
	}
}

// turnFull reports whether the turn should take no further message.
func (us *updates) turnFull() bool {
	return us != nil && (len(us.changes)+len(us.repeats) >= maxUpdateChanges || us.fresh >= maxTurnBytes)
}

// freshBytes returns what the outcomes add to the commit.
func (us *updates) freshBytes() int {
	if us == nil {
		return 0
	}
	return us.fresh
}

func (us *updates) size() int {
	if us == nil {
		return 0
	}
	return us.bytes + us.openBytes + namedBytes*(len(us.handlers)+len(us.open)) + 2*hashBytes*len(us.known.order)
}

// carried returns the updates that the next execution gets, as events, and the IDs of all others that are known.
func (us *updates) carried() (events []history.Event, known []byte) {
	if us == nil {
		return nil, nil
	}
	again := make(map[[hashBytes]byte]bool, len(us.pending))
	for _, u := range us.pending {
		again[history.UpdateHash(u.body.ID)] = true
		events = append(events, history.Event{ID: u.received, Body: u.body})
	}
	for _, hash := range us.known.order {
		if !again[hash] {
			known = append(known, hash[:]...)
		}
	}
	return events, known
}

// pendingBytes returns the number and the size of the updates that the next execution would get.
func (us *updates) pendingBytes() (count, bytes int) {
	if us == nil {
		return 0, 0
	}
	for _, u := range us.pending {
		bytes += int(history.Size(u.body))
	}
	return len(us.pending), bytes
}

const hashBytes = 16

// updateIDs are the IDs of the last updates that the instance has received, as hashes.
type updateIDs struct {
	seen  map[[hashBytes]byte]struct{}
	order [][hashBytes]byte
}

func (k *updateIDs) has(id string) bool {
	if len(k.seen) == 0 {
		return false
	}
	_, seen := k.seen[history.UpdateHash(id)]
	return seen
}

// add keeps an ID, and forgets the oldest beyond maxKnownUpdates.
func (k *updateIDs) add(hash [hashBytes]byte) {
	if k.seen == nil {
		k.seen = make(map[[hashBytes]byte]struct{})
	}
	if _, seen := k.seen[hash]; seen {
		return
	}
	k.seen[hash] = struct{}{}
	k.order = append(k.order, hash)
	if len(k.order) > maxKnownUpdates {
		delete(k.seen, k.order[0])
		k.order = k.order[1:]
	}
}

// addAll keeps the IDs that a start event has taken along.
func (k *updateIDs) addAll(hashes []byte) {
	for hash := range slices.Chunk(hashes, hashBytes) {
		if len(hash) == hashBytes {
			k.add([hashBytes]byte(hash))
		}
	}
}

// of returns the handler of a name; nil: none.
func (us *updates) of(name string) *updateHandler {
	if h := us.handlers[name]; h != nil {
		return h
	}
	return us.any
}

// all returns the handlers, sorted by name.
func (us *updates) all() []*updateHandler {
	var all []*updateHandler
	for _, name := range slices.Sorted(maps.Keys(us.handlers)) {
		all = append(all, us.handlers[name])
	}
	if us.any != nil {
		all = append(all, us.any)
	}
	return all
}

// names returns the names of all handlers, sorted.
func (us *updates) names() (names [][]byte) {
	for _, name := range slices.Sorted(maps.Keys(us.handlers)) {
		if len(names) == maxShownNames {
			break
		}
		names = append(names, []byte(name))
	}
	return names
}
