package sealing

import (
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

// The limits of a shelf.
const (
	maxShelved   = 1_000
	shelvedBytes = 64 << 20
)

// shelf keeps values for a later call. Beyond its limits the oldest ones go. Many goroutines may use it at once.
type shelf[V any] struct {
	mu    sync.Mutex
	items map[provider.UUID]shelved[V]
	order []place // oldest first; some of them are gone
	bytes int
	last  uint64
}

type shelved[V any] struct {
	value V
	size  int
	place uint64
}

type place struct {
	id    provider.UUID
	place uint64 // of the value that was put there; another one is newer
}

// get returns the value of an ID; the zero value: there is none.
func (s *shelf[V]) get(id provider.UUID) V {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items[id].value
}

// put puts a value of some bytes in the place of the one before.
func (s *shelf[V]) put(id provider.UUID, v V, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
	if s.items == nil {
		s.items = make(map[provider.UUID]shelved[V])
	}
	s.last++
	s.items[id] = shelved[V]{v, size, s.last}
	s.bytes += size
	s.order = append(s.order, place{id, s.last})
	if len(s.order) > 2*maxShelved {
		s.order = slices.DeleteFunc(s.order, func(p place) bool { return s.items[p.id].place != p.place })
	}
	for len(s.items) > 1 && (len(s.items) > maxShelved || s.bytes > shelvedBytes) {
		oldest := s.order[0]
		s.order = s.order[1:]
		if s.items[oldest.id].place == oldest.place {
			s.drop(oldest.id)
		}
	}
}

// remove removes the value of an ID.
func (s *shelf[V]) remove(id provider.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

func (s *shelf[V]) drop(id provider.UUID) {
	s.bytes -= s.items[id].size
	delete(s.items, id)
	if len(s.items) == 0 {
		s.order = nil
	}
}
