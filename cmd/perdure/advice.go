package main

import "github.com/perdure/perdure/internal/invariant"

// advice explains a finding to an operator.
type advice struct{ means, do string }

// adviceOn has an entry for each rule that doctor can find broken.
//
//nolint:gochecknoglobals // constant table
var adviceOn = map[invariant.Rule]advice{
	invariant.MissingOutcome: {
		"callers that wait for the instance get no outcome, or the wrong one",
		"compare 'perdure describe' with 'perdure history'; if the work must be done, start it again under another ID",
	},
	invariant.Stuck: {
		"the instance waits forever for something that can no longer happen",
		"check its progress with 'perdure history', end it with 'perdure terminate', and start it again",
	},
	invariant.EventGap: {
		"the history is incomplete, so the instance cannot be rebuilt from it",
		"restore a backup; if there is none, end the instance with 'perdure terminate' and start it again",
	},
	invariant.UndecodableEvent: {
		"an event cannot be read, so the instance cannot be rebuilt from its history",
		"if a newer release runs on this database, use its doctor; otherwise restore a backup, or end the instance with 'perdure terminate'",
	},
	invariant.ResultObservedTwice: {
		"the code received a result or an event that it must not receive, and may have acted on it",
		"compare 'perdure history' with the effects of the activities",
	},
	invariant.Leftover: {
		"something was not cleaned up; an activity may run for nothing, and its result is dropped",
		"nothing is lost; after a redrive of a dead letter this is expected and ends when the activity has run",
	},
	invariant.Orphan: {
		"rows are left that belong to nothing; they only take up space",
		"nothing is lost; if a deletion was interrupted, repeat it",
	},
	invariant.DeadLease: {
		"a process that no longer runs still holds the work, which waits until the lease expires",
		"wait until the lease expires, or start your service, which releases leases of dead processes",
	},
	invariant.ReadyTime: {
		"the instance may wake too late, never, or for nothing",
		"start your service, which repairs missing wake-ups every minute; then check again",
	},
	invariant.ParentChild: {
		"a child still runs after its parent ended, or a parent waits forever for its child",
		"end the instance that should have ended with 'perdure cancel' or 'perdure terminate'",
	},
	invariant.MissingName: {
		"no process takes the instance, because its row no longer says which orchestration it runs",
		"run 'perdure doctor --repair': it takes the name from the event that started the instance",
	},
	invariant.ReservedID: {
		"perdure's own work of that ID, such as the retention, cannot begin while the instance is stored",
		"keep what you need of it with 'perdure history', then end it with 'perdure terminate' and remove it with 'perdure delete'",
	},
	invariant.UnreadableRow: {
		"a row cannot be read; its instance cannot continue, all others can",
		"restore a backup",
	},
}
