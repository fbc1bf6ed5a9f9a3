package sealing

import (
	"sync"

	"github.com/perdure/perdure/provider"
)

// maxMade bounds the requests that are kept for a repeat.
const maxMade = 1_000

// memory keeps sealed requests whose outcome is not known, so that a repeat under the same commit ID sends the same bytes and asks the codec
// for nothing.
type memory struct {
	mu   sync.Mutex
	made map[provider.UUID]kept
}

type kept struct {
	of     *byte // begins the plain bytes that it was made of
	sealed any
}

// firstOf returns where the bytes of a list begin; nil: it has none.
func firstOf(list [][]byte) *byte {
	if len(list) == 0 || len(list[0]) == 0 {
		return nil
	}
	return &list[0][0]
}

// remember returns the sealed request that was made of the same plain one before, or makes it.
func remember[T any](st *Store, commit provider.UUID, of *byte, seal func() (*T, error)) (*T, error) {
	m := &st.made
	m.mu.Lock()
	before := m.made[commit]
	m.mu.Unlock()
	if sealed, ok := before.sealed.(*T); ok && of != nil && before.of == of {
		return sealed, nil
	}
	sealed, err := seal()
	if err == nil && of != nil && st.seals {
		m.keep(commit, kept{of, sealed})
	}
	return sealed, err
}

func (m *memory) keep(commit provider.UUID, k kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || len(m.made) >= maxMade {
		m.made = make(map[provider.UUID]kept)
	}
	m.made[commit] = k
}

// over forgets a request unless a repeat may follow.
func (m *memory) over(commit provider.UUID, err error) {
	if err != nil && (provider.Retryable(err) || provider.OutcomeOf(err) != provider.OutcomeNothing) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.made, commit)
}
