package model

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// The lengths of leases and delays. None of them expires within a step.
const (
	tick  = 200 * time.Microsecond // from one step to the next, on the model's clock
	short = time.Millisecond + tick/2
	pause = 8 * tick // lets short leases and delays expire
	long  = time.Hour
)

// A side is one of the two stores, with numbers for the IDs that it assigns itself.
type side struct {
	*provider.Full // the handle of the next call

	handles  []*provider.Full
	marks    []mark                   // of the steps
	messages map[provider.UUID]*names // by instance
	letters  names
	created  map[provider.UUID]provider.Time
	followed map[provider.UUID]followed // at the last look
}

// A mark is the time of a step by the store's clock.
type mark struct{ from, to provider.Time }

func newSide(handles ...provider.Provider) *side {
	s := &side{
		messages: map[provider.UUID]*names{}, created: map[provider.UUID]provider.Time{},
		followed: map[provider.UUID]followed{},
	}
	for _, p := range handles {
		s.handles = append(s.handles, provider.FullOf(p))
	}
	s.Full = s.handles[0]
	return s
}

// now reads the store's clock.
func (s *side) now(ctx context.Context) (provider.Time, error) {
	if has[provider.Keeper](s) {
		res, err := s.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "clock", Max: 1})
		return res.Now, err
	}
	res, err := s.idle(ctx, 0)
	return res.Now, err
}

// idle makes a call that finds nothing, and waits so long.
func (s *side) idle(ctx context.Context, wait time.Duration) (provider.FetchTurnsResult, error) {
	return s.FetchTurns(ctx, provider.FetchTurnsRequest{Owner: "nobody", Token: named('I', 1), Lease: long, Max: 1, Wait: wait})
}

// has reports whether the provider of a side has the optional interface T.
func has[T any](s *side) bool {
	_, ok := provider.As[T](s.Provider)
	return ok
}

// start begins a step where the last one ended.
func (s *side) start() {
	at := s.last()
	s.marks = append(s.marks, mark{at, at})
}

// last is the last reading of the store's clock.
func (s *side) last() provider.Time {
	if len(s.marks) == 0 {
		return 0
	}
	return s.marks[len(s.marks)-1].to
}

// inbox returns the numbers of an instance's messages.
func (s *side) inbox(key provider.UUID) *names {
	if s.messages[key] == nil {
		s.messages[key] = &names{}
	}
	return s.messages[key]
}

// names numbers the IDs that a store assigned, from 1, in the order in which they were seen.
type names struct{ ids []int64 }

// number returns the number of an ID.
func (n *names) number(id int64) int64 {
	for i, known := range n.ids {
		if known == id {
			return int64(i) + 1
		}
	}
	n.ids = append(n.ids, id)
	return int64(len(n.ids))
}

// id returns the ID with a number, or an ID that the store never assigned.
func (n *names) id(number int64) int64 {
	if number < 1 || number > int64(len(n.ids)) {
		return 1<<40 + number
	}
	return n.ids[number-1]
}
