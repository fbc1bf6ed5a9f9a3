package validations

import "github.com/perdure/perdure/provider"

// levelIs checks the stored level of an instance.
func (t *trial) levelIs(what string, key provider.UUID, want int64) {
	is(t, "the level after "+what, t.get(key).EngineLevel, want)
}

// levelled is a message that nodes of lower levels cannot read.
func levelled(word string, level int64) provider.NewMessage {
	m := text(word)
	m.EngineLevel = level
	return m
}

// upTo sets the highest level that a fetch can read.
func upTo(level int64) func(*provider.FetchTurnsRequest) {
	return func(r *provider.FetchTurnsRequest) { r.EngineLevel = level }
}
