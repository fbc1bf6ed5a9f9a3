// Package faulty decorates a provider with faults, as testing/iotest does for readers.
//
// A [Plan] decides which calls fail and how: before the effect, or after it, when the write is stored and the caller gets an
// error. Calls may also be late, wake up for nothing or not at all, lose their connection, or fail during an outage.
//
//	plan := faulty.NewPlan(seed)
//	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn}, Kind: faulty.After, Every: 10})
//	store := faulty.Wrap(memory.New(memory.Options{}), plan)
//
// [provider.As] finds the optional features of the decorated provider. Notices pass the plan; other features have no faults.
package faulty
