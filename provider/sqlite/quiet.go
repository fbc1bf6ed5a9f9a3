package sqlite

// quiet are the kinds of turns of which nothing is left to fetch, as a search of this process has found and nothing
// since could have changed: what becomes fetchable by a commit is told by its effects, what does by time alone is among the dues, and a
// foreign commit voids all that is known of the file. A node that comes back for more, as it does after each fetch, need not search again.
type quiet map[int64]struct{}

// stir takes note of the kinds of which the transaction made something fetchable.
func (q quiet) stir(t *tx) {
	for kind := range t.Effects.Turns {
		delete(q, kind)
	}
	clear(t.Effects.Turns)
}
