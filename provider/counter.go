package provider

// Counters are what a provider value has done since it was opened.
type Counters struct {
	Commits      int64 // transactions that changed the store
	CommitGroups int64 // turn commits in these transactions
	Dropped      int64 // messages dropped because their key was gone
	ReadyMended  int64 // ready times that the janitor has corrected
	AskLooks     int64 // times that a call of Ask looked whether its question is answered
}

// Counter is implemented by providers that count what they do, for benchmarks and for finding faults.
type Counter interface {
	// Counters touches no storage and never fails.
	Counters() Counters
}

// CountersOf returns the counters of p: zero if it does not count.
func CountersOf(p Provider) Counters {
	if c, ok := As[Counter](p); ok {
		return c.Counters()
	}
	return Counters{}
}
