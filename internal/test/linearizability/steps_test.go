package linearizability

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/client"
)

// A kind is what a call does.
type kind string

// The kinds of calls.
const (
	starting   kind = "start"   // with a policy, perhaps with an event
	restarting kind = "restart" // what the ID names
	lookingUp  kind = "look up"
	describing kind = "describe"
	raising    kind = "raise"
	sending    kind = "send"  // an update, without waiting for its outcome
	awaiting   kind = "await" // the outcome of an update
	querying   kind = "query" // perhaps after an event
	waiting    kind = "wait"  // for the end
	cancelling kind = "cancel"
	ending     kind = "terminate"
	deleting   kind = "delete"
)

// A call is what a client asks for.
type call struct {
	kind   kind
	key    string // of the handle; "": the call names the ID
	entry  string // that it brings, or waits for
	policy client.IDPolicy
}

// String implements fmt.Stringer.
func (c call) String() string {
	text := string(c.kind)
	if c.kind == starting {
		text += fmt.Sprintf(" policy %d", c.policy)
	}
	if c.entry != "" {
		text += " " + c.entry
	}
	if c.key != "" {
		text += " on " + short(c.key)
	}
	return text
}

// An outcome says whether a call has succeeded, or how it has failed.
type outcome string

// The outcomes of calls. Those that the client calls an error have its name.
const (
	succeeded   outcome = "ok"
	unknown     outcome = "ErrOutcomeUnknown"
	notFound    outcome = "ErrNotFound"
	inUse       outcome = "ErrExists"
	over        outcome = "ErrEnded"
	closing     outcome = "ErrClosing"
	running     outcome = "ErrRunning"
	superseded  outcome = "ErrSuperseded"
	conflict    outcome = "ErrConflict"
	abandoned   outcome = "ErrAbandoned"
	noSuchQuery outcome = "ErrUnknownQuery"
)

// A result is what a call has returned.
type result struct {
	outcome   outcome
	key       string
	status    client.Status
	request   string
	execution int64
	entries   []string
}

// String implements fmt.Stringer.
func (r result) String() string {
	text := string(r.outcome)
	if r.key != "" {
		text += " " + short(r.key)
	}
	if r.status != "" {
		text += " " + string(r.status)
	}
	if r.execution != 0 {
		text += fmt.Sprintf(" execution %d", r.execution)
	}
	if r.entries != nil {
		text += fmt.Sprintf(" %v", r.entries)
	}
	return text
}

// step returns the states after a call with such a result, none if the client promises another one.
func (s *state) step(c call, r result) []*state {
	switch c.kind {
	case starting:
		return s.start(c, r)
	case restarting:
		return s.restart(c, r)
	}
	at, i, ok := s.of(c.key)
	switch {
	case r.outcome == notFound:
		if ok || c.key != "" && at < 0 {
			return nil
		}
		return s.same()
	case !ok && r.outcome == unknown:
		return s.same()
	case !ok:
		return nil
	}
	switch c.kind {
	case lookingUp:
		ok = r.outcome == succeeded && s.named(&i, r.key)
	case describing:
		ok = r.outcome == succeeded && s.named(&i, r.key) && i.request == r.request && i.has(r.status) && i.in(r.execution)
	case raising:
		ok = i.raise(c.entry, r)
	case sending:
		ok = i.send(c.entry, r)
	case awaiting:
		ok = i.await(c.entry, r)
	case querying:
		ok = i.query(c.entry, r)
	case waiting:
		ok = i.wait(r)
	case cancelling:
		ok = i.steer(r, func() { i.asked = true })
	case ending:
		ok = i.steer(r, func() { i.end = client.StatusTerminated })
	case deleting:
		return s.delete(at, i, r)
	}
	if !ok {
		return nil
	}
	return s.with(at, i)
}

// start is a start of the ID. The entry is the request ID; an event that comes with it has the same name, with another first letter.
func (s *state) start(c call, r result) []*state {
	at, i, ok := s.now()
	fresh := instance{key: r.key, request: c.entry}
	event := ""
	if c.entry[0] == 'w' {
		event = "e" + c.entry
		fresh.takes(event)
	}
	switch {
	case !ok:
		return s.begin(r, fresh)
	case r.outcome == inUse:
		if c.policy == client.UseExisting || i.request == c.entry || !s.named(&i, r.key) || !i.has(r.status) ||
			c.policy == client.ReplaceEnded && r.status != client.StatusRunning {
			return nil
		}
		return s.with(at, i)
	case i.request == c.entry || event != "" && slices.Contains(i.joined, c.entry):
		if r.outcome == succeeded && !s.named(&i, r.key) {
			return nil
		}
		return s.told(at, i, r)
	case c.policy == client.ReplaceEnded:
		return s.replace(at, i, r, fresh)
	case c.policy == client.UseExisting && event != "":
		return s.join(at, i, c, r, event)
	case r.outcome == unknown:
		return s.same()
	case c.policy != client.UseExisting || !s.named(&i, r.key):
		return nil
	}
	return s.told(at, i, r)
}

// told returns a state with an instance, if the call has succeeded or its outcome is unknown.
func (s *state) told(at int, i instance, r result) []*state {
	if r.outcome != succeeded && r.outcome != unknown {
		return nil
	}
	return s.with(at, i)
}

// begin adds a new instance.
func (s *state) begin(r result, fresh instance) []*state {
	if r.outcome == succeeded && slices.ContainsFunc(s.all, func(i instance) bool { return i.key == r.key }) {
		return nil // a key is never used again
	}
	return s.told(len(s.all), fresh, r)
}

// replace lets a new instance have the ID if the old one has ended.
func (s *state) replace(at int, i instance, r result, fresh instance) []*state {
	seen := i.end != ""
	if !i.hasEnded(ended) {
		if r.outcome == unknown {
			return s.same()
		}
		return nil
	}
	next := s.with(at, i)[0].begin(r, fresh)
	if r.outcome == unknown && !seen {
		next = append(next, s) // it may not have ended by then
	}
	return next
}

// join brings an event to the instance that exists.
func (s *state) join(at int, i instance, c call, r result, event string) []*state {
	switch {
	case r.outcome == over && i.hasEnded(ended):
		return s.with(at, i)
	case r.outcome == unknown && i.end != "":
		return s.same()
	case r.outcome == succeeded && !s.named(&i, r.key), r.outcome == over, i.end != "":
		return nil
	}
	i.takes(event)
	i.joined = append(slices.Clip(i.joined), c.entry)
	return s.told(at, i, r)
}

// restart is a restart of the ID. The entry is the request ID. It has no effect if what it has seen has changed since, or is not stored any more.
func (s *state) restart(c call, r result) []*state {
	at, i, ok := s.now()
	switch {
	case r.outcome == superseded, r.outcome == conflict, !ok && r.outcome == notFound, len(s.all) == 0 && r.outcome == unknown:
		return s.same()
	case r.outcome == notFound, len(s.all) == 0:
		return nil
	case !ok: // what it restarts was deleted after it was read
		return s.begin(r, instance{key: r.key, request: c.entry})
	case i.request == c.entry:
		if r.outcome == succeeded && !s.named(&i, r.key) {
			return nil
		}
		return s.told(at, i, r)
	case r.outcome == inUse:
		if r.status != client.StatusRunning || !s.named(&i, r.key) || !i.has(r.status) {
			return nil
		}
		return s.with(at, i)
	}
	return s.replace(at, i, r, instance{key: r.key, request: c.entry})
}

// delete removes an instance that has ended.
func (s *state) delete(at int, i instance, r result) []*state {
	gone := instance{key: i.key, gone: true}
	seen := i.end != ""
	switch {
	case r.outcome == running && i.has(client.StatusRunning):
		return s.with(at, i)
	case r.outcome == unknown && i.hasEnded(ended):
		next := s.with(at, gone)
		if !seen {
			next = append(next, s)
		}
		return next
	case r.outcome == unknown:
		return s.same()
	case r.outcome == succeeded && i.hasEnded(ended):
		return s.with(at, gone)
	}
	return nil
}

// steer is a call that an instance accepts as long as it runs.
func (i *instance) steer(r result, effect func()) bool {
	switch r.outcome {
	case succeeded, unknown:
		if i.end == "" {
			effect()
			return true
		}
		return r.outcome == unknown
	case over:
		return i.hasEnded(ended)
	}
	return false
}

func (i *instance) raise(entry string, r result) bool {
	return i.steer(r, func() { i.takes(entry) })
}

// send is the send of an update. An instance that has taken it accepts it again, also after its end.
func (i *instance) send(entry string, r result) bool {
	switch {
	case r.outcome == succeeded && i.knows(entry):
		return true
	case r.outcome == over:
		return i.hasEnded(ended) && i.refuses(entry)
	}
	return i.steer(r, func() { i.takes(entry) })
}

// await is the outcome of an update.
func (i *instance) await(entry string, r result) bool {
	switch r.outcome {
	case succeeded:
		return len(r.entries) > 0 && r.entries[len(r.entries)-1] == entry && i.shows(r.entries)
	case over:
		return i.hasEnded(ended) && i.refuses(entry)
	case closing:
		return i.mayEnd() && i.refuses(entry)
	case abandoned:
		return i.mayEnd()
	}
	return false
}

// query is the answer to a query. It shows what anybody has seen before, and all there ever was once the instance has ended.
func (i *instance) query(after string, r result) bool {
	switch r.outcome {
	case succeeded:
		rolls := int64(0)
		for _, e := range r.entries {
			if e[0] == 'r' {
				rolls++
			}
		}
		if i.silent || len(r.entries) < len(i.shown) || !i.shows(r.entries) || !i.in(r.execution) || r.execution < rolls || r.execution > rolls+1 {
			return false
		}
		i.final = i.end != ""
		stops := slices.ContainsFunc(r.entries, func(e string) bool { return e[0] == 's' })
		return (after == "" || slices.Contains(r.entries, after)) && (stops || i.end != client.StatusCompleted)
	case over:
		return after != "" && i.hasEnded(ended) && i.refuses(after)
	case noSuchQuery: // the code of its last execution has never begun
		if !i.hasEnded(ended) || len(i.shown) > 0 && i.rolls() == 0 {
			return false
		}
		i.silent = true
		return true
	}
	return false
}

// wait is the outcome of an instance. A handler that ended after the function may show more than that.
func (i *instance) wait(r result) bool {
	if r.outcome != succeeded || !i.hasEnded(r.status) {
		return false
	}
	return r.status != client.StatusCompleted ||
		slices.ContainsFunc(r.entries, func(e string) bool { return e[0] == 's' }) && i.shows(r.entries)
}
