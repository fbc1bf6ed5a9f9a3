package linearizability

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure/client"
)

// ends are the statuses in which an instance of the test may end.
var ends = []client.Status{client.StatusCompleted, client.StatusCancelled, client.StatusTerminated}

// An instance is what is known of one instance of an ID. Its entries are named by what they are: e1 is an event, u1 an update, r1 an
// event that lets it continue as new, s1 one that ends it. The lists only grow, so copies share them.
type instance struct {
	key     string   // "": nobody has been told it
	request string   // of the start
	joined  []string // request IDs of later starts that have brought it an event
	sent    []sent   // in the order in which it was stored
	shown   []string // entries that somebody has seen, in the order in which the code took them
	refused []string // updates and events that the code never takes
	end     client.Status
	final   bool  // the code takes no more than what is shown
	asked   bool  // to cancel
	latest  int64 // execution that somebody has seen
	silent  bool  // it was terminated before the code of its last execution began, so it answers no query
	gone    bool
}

// sent is an entry that was stored. The code takes it after so many events.
type sent struct {
	name   string
	events int
}

// ended is the status of an instance that has ended in a way that nobody has seen yet.
const ended client.Status = "ended"

// A state is what is known of an ID: its instances, of which the last one has the ID unless it is gone.
type state struct {
	all  []instance
	text string // equal states have the same
}

// with returns a state in which an instance is another one, or is added.
func (s *state) with(at int, i instance) []*state {
	all := slices.Clone(s.all)
	if at == len(all) {
		all = append(all, i)
	}
	all[at] = i
	return []*state{newState(all)}
}

func newState(all []instance) *state {
	s := &state{all: all}
	s.text = s.String()
	return s
}

// same is the result of a call that changes nothing.
func (s *state) same() []*state { return []*state{s} }

// String implements fmt.Stringer.
func (s *state) String() string {
	var b strings.Builder
	for at := range s.all {
		i := &s.all[at]
		if i.gone {
			fmt.Fprintf(&b, "[%s gone]", short(i.key))
			continue
		}
		fmt.Fprintf(&b, "[%s %s shows %v", short(i.key), i.request, i.shown)
		for _, e := range i.sent {
			if !slices.Contains(i.shown, e.name) {
				fmt.Fprintf(&b, " waits %s>%d", e.name, e.events)
			}
		}
		fmt.Fprintf(&b, " joined %v refused %v execution %d %s", i.joined, i.refused, i.latest, i.end)
		if i.asked {
			b.WriteString(" cancelling")
		}
		if i.final {
			b.WriteString(" final")
		}
		if i.silent {
			b.WriteString(" silent")
		}
		b.WriteByte(']')
	}
	return b.String()
}

func short(key string) string { return key[max(0, len(key)-4):] }

// now returns the instance that has the ID.
func (s *state) now() (at int, i instance, ok bool) {
	at = len(s.all) - 1
	if at < 0 || s.all[at].gone {
		return at, i, false
	}
	return at, s.all[at], true
}

// of returns the instance that a call names, by its key if it has one. ok is false if there is none.
func (s *state) of(key string) (at int, i instance, ok bool) {
	if key == "" {
		return s.now()
	}
	at = slices.IndexFunc(s.all, func(i instance) bool { return i.key == key })
	if at < 0 || s.all[at].gone {
		return at, i, false
	}
	return at, s.all[at], true
}

// named notes the key of an instance, and reports whether it can be that.
func (s *state) named(i *instance, key string) bool {
	if i.key == "" && !slices.ContainsFunc(s.all, func(i instance) bool { return i.key == key }) {
		i.key = key
	}
	return i.key == key
}

// mayEnd reports whether the instance has ended, or the code has a reason to end.
func (i *instance) mayEnd() bool {
	return i.end != "" || i.asked || slices.ContainsFunc(i.sent, func(e sent) bool { return e.name[0] == 's' })
}

// hasEnded notes that the instance has ended, and reports whether it can have.
func (i *instance) hasEnded(how client.Status) bool {
	switch {
	case !i.mayEnd(), i.end != "" && i.end != ended && how != ended && i.end != how:
		return false
	case i.end == "" || i.end == ended:
		stops := slices.ContainsFunc(i.sent, func(e sent) bool { return e.name[0] == 's' })
		if how == client.StatusCompleted && !stops || how == client.StatusCancelled && !i.asked || how == client.StatusTerminated {
			return false // a termination is known at once
		}
		i.end = how
	}
	return how == ended || slices.Contains(ends, how)
}

// has notes a status, and reports whether the instance can have it.
func (i *instance) has(status client.Status) bool {
	if status == client.StatusRunning {
		return i.end == ""
	}
	return i.hasEnded(status)
}

// in notes an execution, and reports whether the instance can be in it.
func (i *instance) in(execution int64) bool {
	if execution < i.latest || execution < 1 || execution > 1+i.rolls() {
		return false
	}
	i.latest = execution
	return true
}

// rolls counts the entries that were stored to let the instance continue as new.
func (i *instance) rolls() (n int64) {
	for _, e := range i.sent {
		if e.name[0] == 'r' {
			n++
		}
	}
	return n
}

func (i *instance) knows(name string) bool {
	return slices.ContainsFunc(i.sent, func(e sent) bool { return e.name == name })
}

// takes adds an entry that was stored. An instance takes each one once.
func (i *instance) takes(name string) {
	if i.knows(name) {
		return
	}
	events := 0
	for _, e := range i.sent {
		if e.name[0] == 'e' {
			events++
		}
	}
	i.sent = append(slices.Clip(i.sent), sent{name, events})
}

// refuses notes that the code never takes an entry, and reports whether that can be.
func (i *instance) refuses(name string) bool {
	if slices.Contains(i.shown, name) {
		return false
	}
	if !slices.Contains(i.refused, name) {
		i.refused = append(slices.Clone(i.refused), name)
		slices.Sort(i.refused)
	}
	return true
}

// shows notes the entries that the code had taken at some time, and reports whether they can be. Events are taken in the order in which they
// were stored, and so are updates. Every other entry is taken after the events that were stored before it.
func (i *instance) shows(entries []string) bool {
	known := min(len(entries), len(i.shown))
	if !slices.Equal(entries[:known], i.shown[:known]) {
		return false
	}
	if len(entries) == known {
		return true
	}
	if i.final {
		return false
	}
	taken := map[byte]int{}
	for at, name := range entries {
		kind := name[0]
		if at >= known && !i.next(entries[:at], name, taken) {
			return false
		}
		taken[kind]++
	}
	i.shown = slices.Clone(entries)
	return true
}

// next reports whether the code can take an entry after others, of which taken counts those of each kind.
func (i *instance) next(before []string, name string, taken map[byte]int) bool {
	if slices.Contains(i.refused, name) || slices.Contains(before, name) {
		return false
	}
	nth := 0
	for _, e := range i.sent {
		if e.name == name {
			ordered := name[0] == 'e' || name[0] == 'u'
			return (!ordered || taken[name[0]] == nth) && (name[0] == 'e' || taken['e'] >= e.events)
		}
		if e.name[0] == name[0] {
			nth++
		}
	}
	return false
}

// model returns the model of an ID. It is nondeterministic where a call with an unknown outcome may meet an end that nobody has seen.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{newState(nil)} },
		Step: func(from, made, got any) (next []any) {
			for _, s := range from.(*state).step(made.(call), got.(result)) {
				next = append(next, s)
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(*state).text == b.(*state).text },
		Hash: func(s any) uint64 {
			h := fnv.New64a()
			_, _ = h.Write([]byte(s.(*state).text))
			return h.Sum64()
		},
		DescribeOperation: func(made, got any) string { return fmt.Sprintf("%v: %v", made, got) },
	}
	return m.ToModel()
}
