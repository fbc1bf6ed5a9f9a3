package validations

// unbound lists the sentences that no case quotes because no provider can break them. An entry is a part of a sentence, word for
// word, or the name of a type, field or constant.
func unbound() map[string][]string {
	return map[string][]string{
		"says what something is; methods and fields say what follows": {
			"Package provider is the contract between the perdure engine and a storage",
			"A storage implements [Provider]: twelve methods, most with a context, a request struct and a result struct",
			"Everything else that a storage may have is an interface of its own ([Lister], [Notifier]), which the engine discovers with [As]",
			"Asker", "Lister", "Meter", "Cleaner", "Redriver", "Keeper", "Full", "Trimmer", "Compactor", "CompactRequest", "CompactResult", "Compact returns free space of the store to the file system, in steps that hold no other caller up for long", "Counters", "Counter", "Features", "Featured",
			"It knows nothing about orchestrations", "All that it needs is in plain fields next to the opaque bytes",
			"Messages wait in the inbox of an instance", "First is the first turn of the instance, computed before the instance exists",
			"Activity tasks wait in named queues",
			"ExistsError", "Inspector", "InspectKind", "InspectRequest", "ExecutionRow", "HistoryRow", "MessageRow", "TaskRow",
			"TurnLeaseRow", "LeaseRow", "Status", "IDPolicy", "ClosePolicy", "Parent", "Blocked", "AttributeKind", "Attribute",
			"Instance", "CreateRequest", "CreateResult", "GetResult", "SteerAction", "SteerResult", "SteerTaskAction", "SteerTaskRequest", "TaskSteerer", "The request names what its caller has seen",
			"SteerTask acts on a pending task without its token: complete, retry, hold, release", "No delay of a task reaches it", "Message", "NewMessage", "AskRequest", "AskResult",
			"FetchAsksRequest", "OpenAsk", "FetchAsksResult", "AnswerRequest", "Migration", "Migrator", "Provider", "Filter", "ListRequest",
			"CountRequest", "CountResult", "StatsRequest", "WaitingTurns", "WaitingTasks", "RunningInstances", "StatsResult", "DeadLetterAction", "DeadLetter",
			"LeaseAction", "LeaseRequest", "RecordAction", "Record", "RecordRequest", "TaskRef", "NewTask", "TaskLease", "ExecutionStateKind",
			"QueueFilter", "SessionClaim", "FetchTasksRequest", "LeasedTask", "FetchTasksResult", "TaskOutcome", "TaskReport", "ReportTasksRequest",
			"TaskReportResult", "TaskRenewal", "TaskRenewalResult", "TaskState", "UUID", "Capability", "FetchTurnsRequest", "Turn",
			"FetchTurnsResult", "Start", "NextExecution", "CommitTurnRequest", "CommitTurnResult", "TurnFailure", "TurnRelease", "ReleaseKind", "ReleaseTurnsRequest",

			"Outcome", "Event", "Tx", "Completion",
			"Opener", "CarriedMessage", "ChildLink", "ForkRequest",
			"TaskLister is implemented by providers that list pending tasks of all instances, for people who look for trouble",
			"Mover", "Seal brings an instance from one seal to the next one, or back", "Only neighbours follow each other: none, held, closed",
			"SealState", "SealNone", "SealHeld", "SealClosed", "SealArriving", "SealStep", "StepStay", "StepAdopt", "StepHold", "StepClose", "StepReopen", "StepFree", "SealRequest", "SealResult", "Seal", "SealsRequest", "SealsResult is a page",
			"ExportRequest", "ExportResult is a page", "ImportRequest", "ImportResult", "Parcel", "MovedHead", "MovedExecution", "MovedEvents", "MovedTask", "MovedLetter",
			"ErrMoved means that the instance is sealed: it moves to another store, or from there", "ErrClockBehind means that the store's time is before that of the store that an instance comes from",
			"ErrReadOnly means that the store was opened for reading only",
			"Backuper",
			"Prefix is all that an execution opens with: the beginning of a history, and what is pending at its end",
			"Slots",
			"FailureGrouper is implemented by providers that group failed instances", "declares [Features].FailureGroups", "FailureGroupsRequest asks for groups",
			"FailureGroupsResult has the groups", "FailureGroup is a group of failed instances",
		},
		"heads a list": {
			"Fencing", "Time", "Slices", "Payloads", "Errors", "Concurrency", "Context", "Sentinels of the contract", "The outcomes", "The kinds of rows, and their order within a key",
			"The statuses", "The ID conflict policies", "The kinds of attributes", "The actions of Steer", "The actions of SteerTask", "The actions on dead letters",
			"The actions on named leases", "The actions on records", "The parts of a task's rank; see Provider.FetchTasks",
			"The kinds of execution states", "The kinds of releases; see Provider.ReleaseTurns", "The outcomes of a report; see Provider.ReportTasks", "The states of a pending task",
			"If the ID is in use", "An instance is fetchable if all of these hold", "See the package comment for the rules that every method obeys",
		},
		"tells about the suite": {"The comment of each method is its specification; the conformance suite quotes its sentences"},
		"tells callers what to do": {
			"Callers pass delays and lease lengths as durations", "Compare with errors.Is",
			"Callers make them, providers never do", "[NewKey] makes keys, which sort by age", "The Key is one of [NewKey] for the ID", "CreateRequest.Key", "AskRequest.AskID",
			"Tokens are random bits, so that they cannot be guessed",
			"FetchTurnsRequest.Owner", "The caller then holds the turn until the moment at which it is due", "fn must be quick and must not call the provider",
		},
		"allows something": {
			"If the caller cancelled the context, the provider may still read them", "A notice may be lost, duplicated or made up by another process",
			"So a notice is a hint to look at the store, by a renewal", "Regular renewals are the safety net",
			"They may be some seconds stale", "Prune may also stop once it has looked at [MinRows] ended instances", "Trim may also stop once it has looked at [MinRows] executions", "With Filter.Retrying, it may stop once it has looked at 5,000 such tasks",
			"If an older release has not noted that, it may count from the first Trim with an Age", "It may also end once the provider has looked at [MinRows] rows, even without an instance",
			"Its Cursor then continues after the last row", "After Max it may lead to nothing more", "A provider may return an empty payload as nil", "It may then also stop once it has looked at [MinRows] rows", "An expired lease may move the rank to its expiry", "Concurrent commits need not see each other's tasks",
			"An instance that was held back, by a lease, a delay or Blocked, may count from the moment it was free",
			"A provider may return some messages only once they are visible", "Without [Features].Ahead it may do so with all of them",
			"fn may be called again, in another transaction, before the call returns", "It may ignore First, as Create may", "Features.FailureGroups: else it is ignored",
			"So the node that has the instance in memory answers it, unless that node is slow or dead",
		},
		"of a storage that fails: a case cannot make it fail": {
			"OutcomeNothing", "OutcomeHappened", "OutcomeUnknown", "Error", "Error.Op", "Error.Outcome", "Error.Retryable", "Error.Err",
			"ErrNewerSchema", "ErrNotStore", "InspectResult.Faults", "RowFault", "RowFault.Key",
		},
		"of a file, which tests of the store read": {"Backuper.Backup"},
		"of a moment that a case cannot see": {
			"An instance that is no longer Suspended is not closed: the call returns [ErrConflict]", "Import stores a page of an instance under its key, in one transaction",
			"One that is left is returned with its state, not leased for work", "ErrClosed",
		},
		"of space that only some stores can give back": {
			"It gives back at least Bytes, unless less is free", "With Rebuild, the store is written anew without any gap", "Fixed reports that the store can give back space only by a rebuild",
			"Other callers wait until that is done, and the store needs as much free space again on its disk", "CompactRequest.Bytes", "CompactResult.Freed", "CompactResult.Free", "CompactResult.Size",
		},
		"of a call without a result that could differ": {"Counter.Counters", "Featured.Features"},
		"of a repair that no case can cause":           {"Counters.ReadyMended"},
		"takes a minute":                               {"MaxWait"},
		"no field could say otherwise":                 {"No history is returned"},
	}
}
