package runtime

// Stats counts what a node has done since it started. Gauges are marked.
type Stats struct {
	TurnsFetched      int64 // leases of instances
	TurnsCommitted    int64
	TurnsFast         int64 // of these: made from a result in memory
	TurnsEager        int64 // of these: first turns, stored with the start
	TurnsConflicted   int64 // lost to another commit
	TurnsFailed       int64 // code panicked, deviated or got stuck
	TurnsStuck        int64 // of these: over the deadlock limit
	TurnsRunning      int64 // gauge
	ColdReplays       int64 // executions rebuilt from their history
	MessagesDropped   int64 // that meant nothing to their execution any more
	EventsBuried      int64 // moved to the dead letters, as their instance ended before it was given them
	EventsUnread      int64 // given to an instance that ended before its code took them
	CacheEvictions    int64
	EvictionsStuck    int64 // deferred functions did not return within the deadlock limit
	Cached            int64 // gauge: executions in the cache
	CachedBytes       int64 // gauge: their estimated memory
	TasksFetched      int64
	TasksHandedOff    int64 // leased by the commit that scheduled them
	AttemptsRunning   int64 // gauge
	AttemptsPending   int64 // gauge, of these: their code came back, and the result comes later
	AttemptsParked    int64 // gave their slot back to end later
	AttemptsLocal     int64 // of local activities, inside turns
	LocalsQueued      int64 // local activities that went on in the queue
	AttemptsCompleted int64
	AttemptsFailed    int64 // finally
	AttemptsCancelled int64 // told to stop by their execution, and stopped
	AttemptsRetried   int64
	AttemptsDiscarded int64 // nobody wanted the result
	AttemptsLeaked    int64 // did not end within the grace period
	ResultsLate       int64 // of leaked attempts: discarded
	AttemptsReleased  int64 // handed back on shutdown
	AttemptsPoisoned  int64
	SuspectsDelayed   int64 // lost with their nodes too often to run beside others of their kind
	LeasesLost        int64
	StorageErrors     int64
	LeaksWatched      int64 // gauge: code that should come back and has the grace period
	LeaksRunning      int64 // gauge: code that is over it; it holds no slot
	LeaksGivenUp      int64 // gauge, of these: no longer interrupted
	LeaksRecovered    int64 // came back after the grace period
	LeakedInstances   int64 // gauge: instances with such code, which is what Leaks.MaxInstances bounds
}

// Stats returns what this node has done since Start.
func (rt *Runtime) Stats() Stats { return Stats(rt.dispatcher.Stats()) }
