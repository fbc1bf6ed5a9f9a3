// Package faulty decorates a provider with faults, as testing/iotest does for readers.
//
// A [Plan] says which calls fail and how: before the effect, after it (the write is
// stored and the caller does not learn it), late, woken for nothing or not at all, by a connection that breaks
// under them, or all of them during an outage.
//
//	plan := faulty.NewPlan(seed)
//	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn}, Kind: faulty.After, Every: 10})
//	store := faulty.Wrap(memory.New(memory.Options{}), plan)
//
// Powers beyond Provider are found with provider.As in what is decorated, and have no faults but those of notices.
package faulty
