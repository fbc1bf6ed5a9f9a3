package runtime

// Stats counts the work of a node since it started. Gauges are marked.
type Stats struct {
	TurnsFetched        int64 // leases of instances
	TurnsCommitted      int64
	TurnsFast           int64 // of these: made from a result in memory
	TurnsEager          int64 // of these: first turns, stored with the start
	TurnsConflicted     int64 // lost to another commit
	TurnsFailed         int64 // code panicked, deviated or got stuck
	TurnsStuck          int64 // of these: over the deadlock limit
	TurnsRunning        int64 // gauge
	ColdReplays         int64 // executions rebuilt from their history
	MessagesDropped     int64 // of no use to their execution any more
	EventsBuried        int64 // moved to the dead letters: their instance ended before it received them
	EventsUnread        int64 // received by an instance that ended before its code took them
	HandlersLate        int64 // handlers that ended after ContinueAsNew had the input: the next execution lacks their changes
	EventHandlersFailed int64 // errors of handlers of events, and events that they could not decode
	ErrorsUnread        int64 // of coroutines whose futures nobody read before the end
	StateRefused        int64 // statuses, values and attributes that could not be stored
	HeadersLeftOut      int64 // of messages, activities and children, beyond the limits on headers
	FiguresLost         int64 // counts and observations of code: left out, or of commits with an unknown outcome
	PropagatorsFailed   int64 // calls of propagators that panicked or returned no context of the activity
	CacheEvictions      int64
	EvictionsStuck      int64 // deferred functions did not return within the deadlock limit
	Cached              int64 // gauge: executions in the cache
	CachedBytes         int64 // gauge: their estimated memory
	TasksFetched        int64
	TasksHandedOff      int64 // leased by the commit that scheduled them
	AttemptsRunning     int64 // gauge
	AttemptsPending     int64 // gauge, of these: their code returned, and the result comes later
	AttemptsParked      int64 // released their slot to end later
	AttemptsLocal       int64 // of local activities, inside turns
	LocalsQueued        int64 // local activities that continued in the queue
	AttemptsCompleted   int64
	AttemptsFailed      int64 // finally
	AttemptsCancelled   int64 // cancelled by their execution, and stopped
	AttemptsRetried     int64
	AttemptsDiscarded   int64 // nobody wanted the result
	AttemptsLeaked      int64 // did not end within the grace period
	ResultsLate         int64 // of leaked attempts: discarded
	AttemptsReleased    int64 // released on shutdown
	AttemptsPoisoned    int64
	SuspectsDelayed     int64 // suspected crashers that wait to run one at a time
	LeasesLost          int64
	StorageErrors       int64
	QueriesAnswered     int64
	QueriesCold         int64 // of these and of leaked ones: from an execution rebuilt for them
	QueriesLeaked       int64 // given up: their handlers did not return in time
	QueriesRunning      int64 // gauge, of these: still running
	LeaksWatched        int64 // gauge: code that should return, within the grace period
	LeaksRunning        int64 // gauge: code past the grace period; it holds no slot
	LeaksGivenUp        int64 // gauge, of these: no longer interrupted
	LeaksRecovered      int64 // returned after the grace period
	LeakedInstances     int64 // gauge: instances with such code, bounded by Leaks.MaxInstances
}

// Stats returns the counters of this node since Start.
func (rt *Runtime) Stats() Stats { return Stats(rt.dispatcher.Stats()) }
