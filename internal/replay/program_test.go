package replay_test

import (
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// statement is one step of a random program. Programs are data, so that the same code can run
// live and on replay.
type statement struct {
	Do   string
	N    int
	Body []statement
}

// leaves and nests are the statements without and with a body.
func leaves() []string {
	return []string{
		"activity", "local", "local", "child", "timer", "get", "cancel", "select", "receive", "within", "try", "sleep", "effect", "rand", "err",
		"status", "value", "attribute",
		"patched", "deprecate", "newer",
		"set", "await", "await", "promise", "settle",
	}
}

func nests() []string {
	return []string{"go", "scope", "timeout", "detached", "twice", "handle", "update"}
}

// statements draws a program, at most depth levels deep.
func statements(depth int) *rapid.Generator[[]statement] {
	one := rapid.Custom(func(t *rapid.T) statement {
		names := leaves()
		if depth > 0 {
			names = append(names, nests()...)
		}
		s := statement{Do: rapid.SampledFrom(names).Draw(t, "do"), N: rapid.IntRange(0, 3).Draw(t, "n")}
		for _, nest := range nests() {
			if s.Do == nest {
				s.Body = statements(depth-1).Draw(t, "body")
			}
		}
		return s
	})
	return rapid.SliceOfN(one, 1, 6)
}

// machine runs a program and writes down everything it sees.
type machine struct {
	trace    []string
	open     []*replay.Future
	names    map[string]bool // of events that have a handler
	set      [4]int          // counters that conditions wait for
	promises [4]*replay.Promise
}

func (m *machine) notef(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

// run returns the first error of a scope that is over. It only notes other errors.
func (m *machine) run(s *replay.Scope, code []statement) error {
	for _, st := range code {
		m.step(s, st)
		m.notef("%s at %d: %+v", st.Do, s.Now(), s.Facts())
		if err := s.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) step(s *replay.Scope, st statement) {
	box := fmt.Sprint("box", st.N)
	switch st.Do {
	case "activity":
		m.open = append(m.open, s.Activity(activity(box)))
	case "local":
		call := activity(box)
		call.Cancellation = int64(st.N % 3)
		m.open = append(m.open, s.Local(call))
	case "child":
		m.open = append(m.open, s.Child(&history.ChildStarted{Name: box}))
	case "timer":
		m.open = append(m.open, s.Timer(time.Duration(st.N)*time.Second))
	case "get":
		if f := m.pick(st.N); f != nil {
			m.see(s, f)
		}
	case "cancel":
		if f := m.pick(st.N); f != nil {
			f.Cancel(failure.ErrCancelled)
		}
	case "select":
		sources := []replay.Source{s.Mailbox(box)}
		for _, f := range m.open {
			sources = append(sources, f)
		}
		i, err := s.Wait(sources...)
		m.notef("selected %d %v", i, err)
	case "receive", "within":
		sources := []replay.Source{s.Mailbox(box)}
		if st.Do == "within" {
			sources = append(sources, s.Timer(time.Second))
		}
		i, err := s.Wait(sources...)
		payload, ok := s.Mailbox(box).Take()
		m.notef("received %d %v %s %v", i, err, payload, ok)
	case "try":
		payload, ok := s.Mailbox(box).Take()
		m.notef("tried %s %v", payload, ok)
	case "sleep":
		m.see(s, s.Timer(time.Duration(st.N)*time.Second))
	case "effect":
		value, err := s.SideEffect(func() ([]byte, *history.Failure) { return fmt.Append(nil, len(m.trace)), nil })
		m.notef("effect %s %v", value, err)
	case "status":
		s.SetStatus(m.drawn(st.N))
	case "value":
		data, err := m.drawn(st.N)
		s.SetValue(box, data, err)
	case "attribute":
		s.SetAttribute(provider.Attribute{Name: box, Kind: provider.AttributeInt, Number: int64(len(m.trace) % 3)}, nil)
	case "patched":
		if s.Patched(box) {
			m.open = append(m.open, s.Activity(activity(box)))
			m.notef("patched")
		}
	case "deprecate":
		s.DeprecatePatch(box)
	case "newer":
		if s.Info().Newer {
			m.open = append(m.open, s.Activity(activity(box)))
			m.notef("newer")
		}
	case "rand":
		m.notef("rand %d", s.Rand().Uint64())
	case "err":
		m.notef("err %v", s.Err())
	case "go":
		m.open = append(m.open, s.Go(func(s *replay.Scope) error { return m.run(s, st.Body) }))
	case "scope", "timeout":
		scope, cancel := s.WithCancel()
		if st.Do == "timeout" {
			scope, cancel = s.WithTimeout(time.Duration(st.N) * time.Second)
		}
		m.notef("scope ended %v", m.run(scope, st.Body))
		if st.N%2 == 0 {
			cancel()
		}
	case "handle":
		name := fmt.Sprint("event", st.N)
		if m.names[name] {
			return
		}
		if m.names == nil {
			m.names = make(map[string]bool)
		}
		m.names[name] = true
		s.HandleEvent(name, st.N == 3, func(s *replay.Scope, payload []byte) error {
			m.notef("handles %s", payload)
			err := m.run(s, st.Body)
			m.notef("handled %v", err)
			return err
		})
	case "update":
		m.handleUpdate(s, fmt.Sprint("update", st.N), st)
	case "set":
		m.set[st.N]++
	case "await":
		m.await(s, st.N)
	case "promise":
		if m.promises[st.N] == nil {
			m.promises[st.N] = s.NewPromise()
		}
		m.open = append(m.open, m.promises[st.N].View())
	case "settle":
		if p := m.promises[st.N]; p != nil {
			m.notef("settled %v", p.Settle(fmt.Append(nil, len(m.trace)), nil))
		}
	case "detached":
		m.notef("detached ended %v", m.run(s.Detached(), st.Body))
	case "twice":
		m.notef("twice ended %v", errors.Join(m.run(s, st.Body), m.run(s, st.Body)))
	}
}

// handleUpdate handles the updates of a name that has no handler yet. Some are serial, and some inputs are rejected.
func (m *machine) handleUpdate(s *replay.Scope, name string, st statement) {
	if m.names[name] {
		return
	}
	if m.names == nil {
		m.names = make(map[string]bool)
	}
	m.names[name] = true
	s.HandleUpdate(name, replay.UpdateHandler{
		Serial: st.N%2 == 1, Abandon: st.N == 3,
		Check: func(_ string, input []byte) error {
			if (len(m.trace)+len(input))%4 == 0 {
				return fmt.Errorf("rejected at %d", s.Now())
			}
			return nil
		},
		Run: func(s *replay.Scope, _ string, input []byte) ([]byte, error) {
			m.notef("updates %s", input)
			err := m.run(s, st.Body)
			m.notef("updated %v", err)
			return fmt.Append(nil, len(m.trace)), err
		},
	})
}

// drawn returns a value to show: none, one that cannot be stored, or one that depends on what the code saw.
func (m *machine) drawn(n int) ([]byte, error) {
	switch n {
	case 0:
		return nil, nil
	case 1:
		return nil, fmt.Errorf("no value %d", len(m.trace)%3)
	default:
		return fmt.Append(nil, len(m.trace)%3), nil
	}
}

// await waits until a counter is more than zero and takes one. Counters with even numbers have a limit, and one waits for the promise
// or the time, too.
func (m *machine) await(s *replay.Scope, n int) {
	looks, begun := 0, s.Now()
	err := s.Await(func() bool {
		looks++
		return m.set[n] > 0 || n == 2 && (s.Now() > begun+2_000_000 || m.promises[n] != nil && m.promises[n].Source().Ready())
	}, time.Duration(n)*time.Second, n%2 == 0)
	if err == nil {
		m.set[n]--
	}
	m.notef("awaited %v after %d looks", err, looks)
}

func (m *machine) pick(n int) *replay.Future {
	if len(m.open) == 0 {
		return nil
	}
	return m.open[n%len(m.open)]
}

func (m *machine) see(s *replay.Scope, f *replay.Future) {
	if _, err := s.Wait(f); err != nil {
		m.notef("wait %v", err)
		return
	}
	out, err := f.Result()
	m.notef("got %s %v", out, err)
}
