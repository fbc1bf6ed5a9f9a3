package sqlite

// quiet are the kinds of turns that have nothing to fetch, as a search of this process has found. Effects of commits name the
// kinds that become fetchable, due moments cover those that do so by time alone, and a foreign commit voids all that is cached.
// So a node that fetches again, as it does after each fetch, causes no search. Without this, W1 takes 5 % more CPU.
type quiet map[int64]struct{}

// stir removes the kinds of what the transaction made fetchable.
func (q quiet) stir(t *tx) {
	for kind := range t.Effects.Turns {
		delete(q, kind)
	}
	clear(t.Effects.Turns)
}
