package replay

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// requestIDs are the IDs of the last requests that the instance has consumed. They serve to drop repeats.
type requestIDs struct {
	seen  map[string]struct{}
	order []string
	bytes int
}

// repeats reports whether a request ID was consumed before.
func (r *requestIDs) repeats(id string) bool {
	_, seen := r.seen[id]
	return seen && id != ""
}

// add keeps an ID, and forgets the oldest beyond maxSeen.
func (r *requestIDs) add(id string) {
	if id == "" {
		return
	}
	r.seen[id] = struct{}{}
	r.bytes += len(id)
	r.order = append(r.order, id)
	if len(r.order) > maxSeen {
		delete(r.seen, r.order[0])
		r.bytes -= len(r.order[0])
		r.order = r.order[1:]
	}
}

// last returns the last IDs that fit into room bytes. It leaves out those of carried events, which the next execution
// applies again.
func (r *requestIDs) last(room int, carried []history.Event) [][]byte {
	again := make(map[string]bool, len(carried))
	for _, e := range carried {
		again[requestID(e.Body)] = true
	}
	var ids [][]byte
	for _, id := range slices.Backward(r.order) {
		if again[id] {
			continue
		}
		if room -= len(id) + 4; room < 0 {
			break
		}
		ids = append(ids, []byte(id))
	}
	slices.Reverse(ids)
	return ids
}

func (r *requestIDs) size() int { return r.bytes + namedBytes*len(r.seen) }

func requestID(b history.Body) string {
	switch b := b.(type) {
	case *history.EventReceived:
		return b.RequestID
	case *history.CancelRequested:
		return b.RequestID
	default:
		return ""
	}
}
