package main

import "github.com/perdure/perdure/internal/invariant"

// advice is what a finding means to an operator, and what to do.
type advice struct{ means, do string }

// adviceOn has an entry for each rule that doctor can find broken.
//
//nolint:gochecknoglobals // constant table
var adviceOn = map[invariant.Rule]advice{
	invariant.MissingOutcome: {
		"who waits for the instance gets no outcome, or the wrong one",
		"compare 'perdure show' with 'perdure history'; if the work must be done, start it again under another ID",
	},
	invariant.Stuck: {
		"the instance waits for something that can no longer come, and would wait for ever",
		"look with 'perdure history' how far it came, end it with 'perdure terminate', and start it again",
	},
	invariant.EventGap: {
		"the history is not whole, so that the instance cannot be rebuilt from it",
		"restore a backup; without one, end the instance with 'perdure terminate' and start it again",
	},
	invariant.UndecodableEvent: {
		"an event cannot be read, so that the instance cannot be rebuilt from its history",
		"if a newer release runs on this database, use its doctor; else restore a backup, or end the instance with 'perdure terminate'",
	},
	invariant.ResultObservedTwice: {
		"the code has seen a result or an event that it must not see, and may have acted on it",
		"compare 'perdure history' with what the activities did outside",
	},
	invariant.Leftover: {
		"something was not cleaned up; an activity may run in vain, its result is dropped",
		"nothing is lost; after putting a dead letter back it is as it must be, and ends when the activity has run",
	},
	invariant.Orphan: {
		"rows are left that belong to nothing; they take room and do nothing else",
		"nothing is lost; a deletion that was interrupted goes on when it is repeated",
	},
	invariant.DeadLease: {
		"a process that is gone still holds the work, which waits until the lease is over",
		"wait for that, or start your service: it ends the leases of the dead",
	},
	invariant.ReadyTime: {
		"the instance may be woken too late or never, or for nothing",
		"start your service: every minute it mends what would keep an instance from waking; then check again",
	},
	invariant.ParentChild: {
		"a child runs on for nobody, or its parent waits for ever",
		"end the one that should have ended with 'perdure cancel' or 'perdure terminate'",
	},
	invariant.UnreadableRow: {
		"a row cannot be read; the instance that it belongs to cannot go on, all others can",
		"restore a backup",
	},
}
