package model

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/provider"
)

// A source draws the values of requests.
type source struct {
	t       *rapid.T
	counter int  // of values that must be unique
	brief   bool // the step drew something that expires soon
	idles   bool // an earlier step drew a session that expires soon when idle

	many bool     // the subject has several handles, which should know different things
	new  []string // names of orchestrations that were drawn in addition to x and y
}

// n draws a number from 0 up to less than limit. Shrinking draws lower numbers, so 0 should be the plainest choice.
func (s *source) n(limit int) int { return rapid.IntRange(0, limit-1).Draw(s.t, "") }

// odds is true once in the given number of draws.
func (s *source) odds(of int) bool { return s.n(of) == of-1 }

func pick[T any](s *source, list ...T) T { return list[s.n(len(list))] }

// some draws a list of up to limit items.
func some[T any](s *source, limit int, draw func() T) (list []T) {
	for range s.n(limit + 1) {
		list = append(list, draw())
	}
	return list
}

// delay draws a delay. A short one is over before the next step.
func (s *source) delay() time.Duration {
	switch s.n(12) {
	case 10:
		return long
	case 11:
		s.brief = true
		return short
	default:
		return 0
	}
}

// lease draws the length of a lease.
func (s *source) lease() time.Duration {
	if s.odds(6) {
		s.brief = true
		return short
	}
	return long
}

// unique returns a number that the sequence has not used.
func (s *source) unique() int {
	s.counter++
	return s.counter
}

func (s *source) payload(prefix string) []byte { return fmt.Append(nil, prefix, s.unique()) }

// commit makes a new version.
func (s *source) commit() provider.UUID { return named('C', s.unique()) }

// token draws one of a few tokens, so that several leases share one.
func (s *source) token() provider.UUID { return named('T', 1+s.n(4)) }

func (s *source) owner() string { return pick(s, "n1", "n2") }

func (s *source) id() string { return pick(s, "a", "b", "c", "d") }

// valueNames are the names of key-values.
var valueNames = [...]string{"v", "w"} //nolint:gochecknoglobals // constant table

func (s *source) valueName() string { return pick(s, valueNames[:]...) }

// kind draws the name of an orchestration. With several handles it is often a new one, which the others do not know yet.
func (s *source) kind() string {
	if s.many && !s.odds(3) {
		s.new = append(s.new, fmt.Sprint("z", s.unique()))
		return s.new[len(s.new)-1]
	}
	return pick(s, "x", "y")
}

// capabilities draws mostly all of them.
func (s *source) capabilities() []provider.Capability {
	all := make([]provider.Capability, 0, 4+2*len(s.new))
	all = append(all, provider.Capability{Name: "x"}, provider.Capability{Name: "y"},
		provider.Capability{Name: "x", CodeVersion: "1"}, provider.Capability{Name: "y", CodeVersion: "1"})
	for _, name := range s.new {
		all = append(all, provider.Capability{Name: name}, provider.Capability{Name: name, CodeVersion: "1"})
	}
	if s.odds(4) {
		return all[:s.n(len(all))]
	}
	return all
}

// level draws mostly the highest one.
func (s *source) level() int64 { return int64(pick(s, 2, 2, 2, 1, 0)) }

func (s *source) event() int64 { return int64(1 + s.n(6)) }

// events draws up to two event IDs in rising order, as engines assign them.
func (s *source) events() (list []int64) {
	for event := range int64(6) {
		if len(list) < 2 && s.odds(4) {
			list = append(list, event+1)
		}
	}
	return list
}

func (s *source) message() provider.NewMessage {
	m := provider.NewMessage{Delay: s.delay(), Payload: s.payload("m")}
	if s.odds(3) {
		m.Kind, m.Execution, m.EventID = provider.MessageKind(s.n(3)), int64(s.n(3)), int64(s.n(4))
	}
	switch s.n(12) {
	case 10:
		m.EngineLevel = int64(1 + s.n(2))
	case 11:
		m.Payload = nil
	default:
		if s.many {
			m.EngineLevel = int64(s.n(3))
		}
	}
	return m
}

func (s *source) maybeMessage() *provider.NewMessage {
	if s.odds(2) {
		m := s.message()
		return &m
	}
	return nil
}

func (s *source) attributes() []provider.Attribute {
	return some(s, 2, func() provider.Attribute {
		a := provider.Attribute{Name: pick(s, "x", "y"), Kind: provider.AttributeInt, Number: int64(s.n(2))}
		if s.odds(3) {
			a.Kind, a.Text, a.Number = provider.AttributeText, pick(s, "s", "t"), 0
		}
		return a
	})
}

// sessions is the number of different sessions.
const sessions = 3

func (s *source) session() string { return pick(s, "", "", "", "s1", "s2", "s3") }

// claim draws the terms on which a fetch takes sessions.
func (s *source) claim() provider.SessionClaim {
	most := pick(s, 0, 0, sessions, 1, 2)
	if most == 0 {
		return provider.SessionClaim{}
	}
	claim := provider.SessionClaim{Max: most, Lease: s.lease(), Idle: s.lease()}
	s.idles = s.idles || claim.Idle == short
	return claim
}
