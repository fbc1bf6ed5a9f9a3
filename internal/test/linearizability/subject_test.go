package linearizability

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// maxCalls bounds the calls of a history, so that the checker always comes to an end. The last of them read.
const (
	maxCalls = 200
	maxReads = 40
)

// A subject is an ID with the history of its calls, and what the clients have learned of it.
type subject struct {
	id    string
	epoch time.Time

	mu      sync.Mutex
	history []porcupine.Operation
	begun   int             // calls; those that have changed nothing are in no history
	keys    []provider.UUID // of its instances, in the order in which they were told
	starts  []call          // to repeat
	raised  []arrival
	updates []arrival
	over    bool // the instance has probably ended
}

// An arrival is an entry that was sent to an instance, or to the ID if the key is zero.
type arrival struct {
	key     provider.UUID
	entry   string
	stored  bool // the call has succeeded
	settled bool // an update whose outcome is known
}

// begin reports whether there is room for another call.
func (s *subject) begin(limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun >= limit {
		return false
	}
	s.begun++
	return true
}

// note adds a call to the history, and learns from it.
func (s *subject) note(client int, made call, got result, began, ended time.Duration) {
	op := porcupine.Operation{ClientId: client, Input: made, Output: got, Call: int64(began), Return: int64(ended)}
	if got.outcome == unknown {
		op.Return = math.MaxInt64 // it may take effect at any time
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, op)
	switch got.outcome {
	case over, closing:
		s.over = true
	case succeeded:
		s.learn(made, got)
	}
}

func (s *subject) learn(made call, got result) {
	switch made.kind {
	case starting, restarting:
		s.over = made.policy == client.UseExisting && s.over
	case ending, waiting, deleting:
		s.over = true
	case describing:
		s.over = got.status != client.StatusRunning
	}
	if key, err := keyOf(got.key); err == nil && !key.IsZero() && !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
}

// key returns the key of an instance, mostly of the one that was told last.
func (s *subject) key(random *rand.Rand) (key provider.UUID, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) == 0 {
		return key, false
	}
	if random.IntN(6) == 0 {
		return s.keys[random.IntN(len(s.keys))], true
	}
	return s.keys[len(s.keys)-1], true
}

// some returns a random one of the last few.
func some[T any](s *subject, random *rand.Rand, list *[]T) (one T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(*list)
	if n == 0 {
		return one, false
	}
	return (*list)[n-1-random.IntN(min(n, 6))], true
}

// add adds to one of the lists.
func add[T any](s *subject, list *[]T, one T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = append(*list, one)
}

// settle notes what has become of an update.
func (s *subject) settle(key provider.UUID, entry string, settled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.updates {
		if u := &s.updates[i]; u.key == key && u.entry == entry {
			u.stored, u.settled = true, u.settled || settled
		}
	}
}
