package validations

// unbound lists what no case quotes: a part of a sentence, word for word, or the name of a
// type, field or constant of which all is meant that no case quotes. What a provider can do
// wrong does not belong here.
func unbound() map[string][]string {
	return map[string][]string{
		"says what something is; methods and fields say what follows": {
			"Package provider is the contract between the perdure engine and a storage",
			"A storage implements [Provider]: about twenty methods, each taking a context and a request struct and answering a result struct",
			"Powers that not every storage has are one-method interfaces of their own ([Notifier], [Migrator]), which the engine discovers with [As]",
			"What a provider is not", "it knows nothing of orchestrations", "All it needs stands in plain fields beside opaque bytes",
			"Messages wait in the inbox of an instance", "First is the first turn of the instance, computed before it exists",
			"Activity tasks wait in named queues",
			"ExistsError", "Inspector", "InspectKind", "InspectRequest", "InspectResult", "ExecutionRow", "HistoryRow", "MessageRow", "TaskRow",
			"TurnLeaseRow", "LeaseRow", "Status", "IDPolicy", "ClosePolicy", "Parent", "Blocked", "AttributeKind", "Attribute",
			"Instance", "CreateRequest", "GetResult", "SteerAction", "SteerResult", "Message", "NewMessage", "AskRequest", "AskResult",
			"FetchAsksRequest", "OpenAsk", "FetchAsksResult", "AnswerRequest", "Migration", "Migrator", "Provider", "Filter", "ListRequest",
			"CountRequest", "CountResult", "StatsRequest", "WaitingTurns", "WaitingTasks", "StatsResult", "DeadLetterAction", "DeadLetter",
			"LeaseAction", "LeaseRequest", "RecordAction", "Record", "RecordRequest", "TaskRef", "NewTask", "TaskLease", "ExecutionStateKind",
			"QueueFilter", "SessionClaim", "FetchTasksRequest", "LeasedTask", "FetchTasksResult", "TaskOutcome", "TaskReport", "ReportTasksRequest",
			"TaskReportResult", "TaskRenewal", "TaskRenewalResult", "TaskState", "UUID", "Capability", "FetchTurnsRequest", "Turn",
			"FetchTurnsResult", "Start", "NextExecution", "CommitTurnRequest", "CommitTurnResult", "TurnFailure", "TurnRelease", "ReleaseTurnsRequest",

			"Outcome", "Event", "Tx", "Completion",
		},
		"heads a list": {
			"Fencing", "Time", "Slices", "Errors", "Concurrency", "Context", "Sentinels of the contract", "The outcomes", "The kinds of rows, and their order within a key",
			"The statuses", "The ID conflict policies", "The kinds of attributes", "The actions of Steer", "The actions on dead letters",
			"The actions on named leases", "The actions on records", "What the rank of a task is made of; see Provider.FetchTasks",
			"The kinds of execution states", "The outcomes of a report; see Provider.ReportTasks", "The states of a pending task",
			"with an instance under the same ID", "See the package comment for the rules that every method obeys",
		},
		"tells about the suite": {"The comment of each method is its specification; the conformance suite quotes its sentences"},
		"tells callers what to do": {
			"callers pass delays and lease lengths as durations", "Compare with errors.Is",
			"Callers make them (version 7 for keys, so that they sort by age; random bits for tokens, which must be unguessable); providers never do",
			"FetchTurnsRequest.Owner", "So a turn is there at the very moment at which it is due; whoever leased it waits until then", "fn must be quick and must not call the provider",
		},
		"allows something": {
			"unless a caller cancelled the context: then the provider may still read them", "A notice may be lost, doubled or invented by another process",
			"So a notice is a hint to look at the store, by a renewal, and regular renewal is the safety net",
			"It may be some seconds stale", "If its lease has lapsed, that may be the moment", "commits at the same time need not see each other",
			"One that was held back, by a lease, a delay or Blocked, may count from the moment at which it was free",
			"The engine needs no claims ahead: a provider may ignore Ahead, or answer some messages only when they are visible",
			"fn may be called again, in another transaction, before the call returns", "It may ignore First, as Create may",
		},
		"of a storage that fails: a case cannot make it fail": {
			"OutcomeNothing", "OutcomeHappened", "OutcomeUnknown", "Error", "Error.Op", "Error.Outcome", "Error.Retryable", "Error.Err",
			"ErrNewerSchema", "ErrNotStore", "InspectResult.Faults", "RowFault", "RowFault.Key",
		},
		"of a moment that a case cannot see": {
			"one that is found is returned with its state, not leased for work", "ErrClosed",
		},
		"takes a minute":               {"MaxWait"},
		"no field could say otherwise": {"No history is returned"},
	}
}
