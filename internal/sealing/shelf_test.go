package sealing

import (
	"testing"

	"github.com/perdure/perdure/provider"
)

// A shelf keeps the newest values within its limits, and no places of values that are gone.
func TestShelfIsBounded(t *testing.T) {
	t.Parallel()
	var s shelf[int]
	id := func(i int) provider.UUID { return provider.UUID{byte(i >> 16), byte(i >> 8), byte(i)} }
	for i := range 3 * maxShelved {
		s.put(id(i+1), i+1, 1)
	}
	if len(s.items) != maxShelved || s.get(id(1)) != 0 || s.get(id(3*maxShelved)) != 3*maxShelved {
		t.Errorf("%d items, oldest %d", len(s.items), s.get(id(1)))
	}
	for range 5 * maxShelved {
		s.put(id(3*maxShelved), 7, 1)
	}
	if len(s.items) != maxShelved || len(s.order) > 2*maxShelved || s.bytes != maxShelved || s.get(id(3*maxShelved-1)) == 0 {
		t.Errorf("%d items, %d places, %d bytes", len(s.items), len(s.order), s.bytes)
	}
	for i := range 100 {
		s.put(id(-i), i, 2<<20)
	}
	if s.bytes > shelvedBytes || len(s.items) != shelvedBytes>>21 || s.get(id(-99)) != 99 {
		t.Errorf("%d items of %d bytes", len(s.items), s.bytes)
	}
	for token := range s.items {
		s.remove(token)
	}
	if s.bytes != 0 || s.order != nil {
		t.Errorf("%d bytes, %d places are left", s.bytes, len(s.order))
	}
}
