package replay

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/provider"
)

// The limits of what code shows to others. They decide what is stored, never what code sees. They count for one
// execution: the next one keeps the columns and does not know their names, which are in no event.
const (
	maxStatusBytes = 16 << 10
	maxValueBytes  = 64 << 10
	maxValues      = 100
	maxAttributes  = 100
	// maxRowChanges bounds the calls in reaction to one message that add or delete a key-value. Each of them may be a row.
	maxRowChanges = provider.MaxCommitRows / 4
	// stateRoom is what a commit needs at most besides key-values and what the recorder counts: the outcome as an event, a
	// result and a message to the parent, the last message, the status and the attributes. They need 8.2 MiB. Headers of
	// messages, and what translation adds to tasks, children and requests, need less than 2.8 MiB. 512 KiB are for what a codec adds.
	stateRoom = 11<<20 + 512<<10
	// smallValue is no less than a marker and makes no difference to a commit.
	smallValue = 1 << 10
	// maxEnded bounds the sessions that a turn ends.
	maxEnded = provider.MaxBatch
	// maxLoggedRefusals bounds the log lines of one turn about what could not be stored.
	maxLoggedRefusals = 10
)

// reserved begins the names of the engine's own key-values and attributes.
const reserved = "perdure."

// state is what code has set. A later call replaces what an earlier one has set. No call returns anything, because code
// must not depend on what is stored. A replay stores nothing. It does not know what is stored either: a release before
// may have set something else, or nothing, and a value may be a marker because the commit had no room.
type state struct {
	stored     columns         // no deleted key-values; includes what a replay set
	replayed   map[string]bool // of stored: set by a replay, so the next live call writes it even if it is equal
	fresh      columns         // set since the last confirmed commit, and different from stored
	keys       int             // key-values that exist, fresh ones included
	rowChanges int             // calls that added or deleted a key-value in reaction to the last message
	ended      []string        // sessions that code has ended since the last confirmed commit
	refused    map[string]string
}

// Columns that code can set, with the key or the name after them.
const (
	columnStatus    = "status"
	columnValue     = "value "
	columnAttribute = "attribute "
)

// SetStatus shows data as the status of the instance, or why it could not be encoded. No data clears the status.
func (s *Scope) SetStatus(data []byte, err error) {
	st, replaying := s.shown()
	const what = columnStatus
	data, why := storable(what, data, maxStatusBytes, err)
	if data == nil {
		data = []byte{}
	}
	switch {
	case replaying:
		st.stored.status = data
		st.replayed = with(st.replayed, columnStatus, true)
	case st.stored.status != nil && !st.replayed[columnStatus] && bytes.Equal(data, st.stored.status):
		st.fresh.status = nil
		st.note(what, "")
	default:
		st.fresh.status = data
		st.note(what, why)
	}
}

// SetValue stores data under a key of the instance, or why it could not be encoded. No data deletes the key.
func (s *Scope) SetValue(key string, data []byte, err error) {
	st, replaying := s.shown()
	what := "value " + check.Quote(key)
	data, why := storable(what, data, maxValueBytes, err)
	if bad := st.admitValue(key, data); bad != "" {
		if !replaying {
			st.note(what, bad)
		}
		return
	}
	before, known := st.stored.values[key]
	switch {
	case replaying && data == nil:
		delete(st.stored.values, key)
		delete(st.replayed, columnValue+key)
	case replaying:
		st.stored.values = with(st.stored.values, key, data)
		st.replayed = with(st.replayed, columnValue+key, true)
	case known && data != nil && !st.replayed[columnValue+key] && bytes.Equal(data, before):
		delete(st.fresh.values, key)
		st.note(what, "")
	default:
		st.fresh.values = with(st.fresh.values, key, data)
		st.note(what, why)
	}
}

// admitValue counts the key-values, and returns why one is not stored.
func (st *state) admitValue(key string, data []byte) (bad string) {
	if bad = badName("key", key); bad != "" {
		return bad
	}
	old, touched := st.fresh.values[key]
	if !touched {
		old = st.stored.values[key]
	}
	if old != nil && data != nil {
		return ""
	}
	if st.rowChanges++; st.rowChanges > maxRowChanges {
		return fmt.Sprintf("more than %d keys set or deleted without waiting", maxRowChanges)
	}
	switch {
	case old != nil:
		st.keys--
	case data != nil && st.keys >= maxValues:
		return fmt.Sprintf("there are %d keys already, which is the limit: delete some, or put more into one value", st.keys)
	case data != nil:
		st.keys++
	}
	return ""
}

// SetAttribute sets an attribute of the instance. With an error its value is a text that says why it could not be stored.
func (s *Scope) SetAttribute(a provider.Attribute, err error) {
	st, replaying := s.shown()
	what := "attribute " + check.Quote(a.Name)
	if bad := st.admitAttribute(a.Name); bad != "" {
		if !replaying {
			st.note(what, bad)
		}
		return
	}
	why := ""
	if err != nil {
		why = err.Error()
		a = provider.Attribute{Name: a.Name, Kind: provider.AttributeText, Text: string(payload.Refusal(why))}
	}
	before, known := st.stored.attributes[a.Name]
	switch {
	case replaying:
		st.stored.attributes = with(st.stored.attributes, a.Name, a)
		st.replayed = with(st.replayed, columnAttribute+a.Name, true)
	case known && before == a && !st.replayed[columnAttribute+a.Name]:
		delete(st.fresh.attributes, a.Name)
		st.note(what, "")
	default:
		st.fresh.attributes = with(st.fresh.attributes, a.Name, a)
		st.note(what, why)
	}
}

// admitAttribute returns why an attribute is not stored.
func (st *state) admitAttribute(name string) (bad string) {
	if bad = badName("attribute name", name); bad != "" {
		return bad
	}
	n := len(st.stored.attributes)
	for fresh := range st.fresh.attributes {
		if _, known := st.stored.attributes[fresh]; !known {
			n++
		}
	}
	_, known := st.stored.attributes[name]
	_, touched := st.fresh.attributes[name]
	if !known && !touched && n >= maxAttributes {
		return fmt.Sprintf("there are %d attributes already, which is the limit", n)
	}
	return ""
}

// EndSession ends a session with the commit of the turn. A replay ends none: the turn that it repeats has.
func (s *Scope) EndSession(id string) {
	st, replaying := s.shown()
	if replaying {
		return
	}
	what := "end of session " + check.Quote(id)
	switch err := check.Name("session", id); {
	case err != nil:
		st.note(what, err.Error())
	case slices.Contains(st.ended, id):
	case len(st.ended) >= maxEnded:
		st.note(what, fmt.Sprintf("more than %d sessions ended without waiting", maxEnded))
	default:
		st.ended = append(st.ended, id)
	}
}

// shown begins a call that shows something.
func (s *Scope) shown() (st *state, replaying bool) {
	s.x.sched.enter()
	if s.x.state == nil {
		s.x.state = &state{}
	}
	return s.x.state, s.x.events.replaying.Load()
}

// note keeps why something is not stored for the log. With why "" it is stored.
func (st *state) note(what, why string) {
	switch {
	case why == "":
		delete(st.refused, what)
	case len(st.refused) < maxRowChanges:
		st.refused = with(st.refused, what, why)
	}
}

// storable returns what is stored of a value: nil if there is none, or a marker and the reason for it.
func storable(what string, data []byte, limit int, err error) (stored []byte, why string) {
	switch {
	case err != nil:
		why = err.Error()
	case len(data) > limit:
		why = fmt.Sprintf("%s has %d bytes, the limit is %d: store it elsewhere and show a reference", what, len(data), limit)
	case len(data) == 0 || string(data) == "null":
		return nil, ""
	default:
		return data, ""
	}
	return payload.Refusal(why), why
}

// badName returns what is wrong with a name that no storage takes or that is the engine's.
func badName(what, name string) string {
	if err := check.Name(what, name); err != nil {
		return err.Error()
	}
	if strings.HasPrefix(name, reserved) {
		return fmt.Sprintf("%s begins with %q, which is reserved: choose another one", what, reserved)
	}
	return ""
}

// turn returns what a commit must store, nil if that is nothing. room is how many bytes of key-values fit into it.
func (st *state) turn(room int) *State {
	if st == nil || st.fresh.empty() && len(st.refused)+len(st.ended) == 0 {
		return nil
	}
	st.fit(room)
	t := st.fresh.list()
	t.Refused, t.Ended = len(st.refused), slices.Clone(st.ended)
	return t
}

// fit replaces key-values that do not fit into the commit with everything else. That takes the largest values and a
// turn with the largest payloads.
func (st *state) fit(room int) {
	for _, key := range slices.Sorted(maps.Keys(st.fresh.values)) {
		size := len(st.fresh.values[key])
		if size <= smallValue || size <= room {
			room -= size
			continue
		}
		const why = "the turn stores too much else: set the value in another turn"
		st.fresh.values[key] = payload.Refusal(why)
		st.note("value "+check.Quote(key), why)
	}
}

// confirm notes that the columns are stored, and returns what could not be.
func (st *state) confirm() (refused map[string]string) {
	if st == nil {
		return nil
	}
	st.stored.merge(&st.fresh)
	st.settle()
	refused = st.refused
	st.fresh, st.refused, st.ended = columns{}, nil, nil
	return refused
}

// settle notes that what a commit has stored is known.
func (st *state) settle() {
	if len(st.replayed) == 0 {
		return
	}
	if st.fresh.status != nil {
		delete(st.replayed, columnStatus)
	}
	for key := range st.fresh.values {
		delete(st.replayed, columnValue+key)
	}
	for name := range st.fresh.attributes {
		delete(st.replayed, columnAttribute+name)
	}
}

// begin begins what one message leads to.
func (st *state) begin() {
	if st != nil {
		st.rowChanges = 0
	}
}

// turnFull reports whether the turn should take no further message.
func (st *state) turnFull() bool {
	return st != nil && (len(st.fresh.values) >= maxRowChanges || len(st.refused) >= maxRowChanges)
}

func (st *state) size() int {
	if st == nil {
		return 0
	}
	return st.stored.size()
}

// State returns what code has set last and what it waits for, stored or not. An execution that is opened from this history must store it and
// nothing else.
func (v View) State() State {
	var shown State
	if v.x.state != nil {
		all := v.x.state.stored.copy()
		all.merge(&v.x.state.fresh)
		shown = *all.list()
	}
	if w := v.x.waits.now(); w.Text != "" && v.x.end == nil {
		shown.Values, shown.Attributes = append(shown.Values, w.value()), append(shown.Attributes, w.attribute())
	}
	return shown
}

// logRefused logs what could not be stored.
func (x *core) logRefused(refused map[string]string) {
	for i, what := range slices.Sorted(maps.Keys(refused)) {
		if i == maxLoggedRefusals {
			write(func() { x.ownLogger().Warn("more state could not be stored", "count", len(refused)-i) })
			return
		}
		write(func() { x.ownLogger().Warn("state could not be stored", "what", what, "why", refused[what]) })
	}
}
