package sealing

import "github.com/perdure/perdure/provider"

// memory keeps sealed requests whose outcome is not known, so that a repeat under the same commit ID sends the same bytes and asks the codec
// for nothing.
type memory struct{ shelf[kept] }

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
func remember[T any](st *Store, commit provider.UUID, of *byte, seal func(s *sealer) (*T, error)) (*T, error) {
	before := st.made.get(commit)
	if sealed, ok := before.sealed.(*T); ok && of != nil && before.of == of {
		return sealed, nil
	}
	s := new(sealer)
	sealed, err := seal(s)
	if err == nil && of != nil && st.seals {
		st.made.put(commit, kept{of, sealed}, s.size(st.growth))
	}
	return sealed, err
}

// over forgets a request unless a repeat may follow.
func (m *memory) over(commit provider.UUID, err error) {
	if err != nil && (provider.Retryable(err) || provider.OutcomeOf(err) != provider.OutcomeNothing) {
		return
	}
	m.remove(commit)
}
