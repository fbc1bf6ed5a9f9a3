package sqlite

// emptyKinds are the kinds of turns that have nothing to fetch, as a search of this process has found. Effects of commits name the
// kinds that become fetchable, and due moments cover those that do so by time alone. A commit of another process makes all that
// is cached stale. So a node that fetches again, as it does after each fetch, causes no search. Without this, W1 takes 5 % more CPU.
type emptyKinds map[int64]struct{}

// invalidate removes the kinds of what the transaction made fetchable.
func (e emptyKinds) invalidate(t *tx) {
	for kind := range t.Effects.Turns {
		delete(e, kind)
	}
	clear(t.Effects.Turns)
}
