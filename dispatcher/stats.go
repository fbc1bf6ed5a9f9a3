package dispatcher

// Stats counts what a node has done since it started. Gauges are marked.
type Stats struct {
	TurnsFetched        int64 // instances leased
	TurnsCommitted      int64
	TurnsFast           int64 // of these: made from a result in memory
	TurnsEager          int64 // of these: first turns, stored with the start
	TurnsConflicted     int64 // lost to another commit
	TurnsFailed         int64 // code panicked, deviated or got stuck
	TurnsStuck          int64 // of these: over the deadlock limit
	TurnsRunning        int64 // gauge
	ColdReplays         int64 // executions rebuilt from their history
	MessagesDropped     int64 // no longer of use to their execution
	EventsBuried        int64 // moved to the dead letters, because their instance ended first
	EventsUnread        int64 // delivered to an instance that ended before its code took them
	HandlersLate        int64 // handlers that ended after ContinueAsNew had the input: the next execution lacks their changes
	EventHandlersFailed int64 // errors of handlers of events, and events that they could not decode
	ErrorsUnread        int64 // of coroutines, at the end of their instance
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
	LocalsQueued        int64 // local activities that went on in the queue
	AttemptsCompleted   int64
	AttemptsFailed      int64 // finally
	AttemptsCancelled   int64 // cancelled by their execution, and stopped
	AttemptsRetried     int64
	AttemptsDiscarded   int64 // the result was of no use
	AttemptsLeaked      int64 // did not end within the grace period
	ResultsLate         int64 // of leaked attempts: discarded
	AttemptsReleased    int64 // released on shutdown
	AttemptsPoisoned    int64
	SuspectsDelayed     int64 // suspects released to run one at a time
	LeasesLost          int64
	StorageErrors       int64
	QueriesAnswered     int64
	QueriesCold         int64 // of these and of leaked ones: from an execution rebuilt for them
	QueriesLeaked       int64 // given up: their handlers did not return in time
	QueriesRunning      int64 // gauge, of these: still running
	LeaksWatched        int64 // gauge: code that should return, within the grace period
	LeaksRunning        int64 // gauge: leaked code that still runs; it does not hold a slot
	LeaksGivenUp        int64 // gauge, of these: no longer interrupted
	LeaksRecovered      int64 // returned after the grace period
	LeakedInstances     int64 // gauge: instances with such code, which is what MaxLeaked bounds
}

// Stats returns the counters of now.
func (d *Dispatcher) Stats() Stats {
	c := &d.node.Count
	cached, bytes := d.turns.Cached()
	stats := Stats{
		TurnsFetched: c.TurnsFetched.Load(), TurnsCommitted: c.TurnsCommitted.Load(), TurnsFast: c.TurnsFast.Load(), TurnsEager: c.TurnsEager.Load(),
		TurnsConflicted: c.TurnsConflicted.Load(), TurnsFailed: c.TurnsFailed.Load(), TurnsStuck: c.TurnsStuck.Load(),
		TurnsRunning: c.TurnsRunning.Load(), ColdReplays: c.ColdReplays.Load(), MessagesDropped: c.MessagesDropped.Load(),
		EventsBuried: c.EventsBuried.Load(), EventsUnread: c.EventsUnread.Load(), StateRefused: c.StateRefused.Load(),
		CacheEvictions: c.CacheEvictions.Load(), EvictionsStuck: c.EvictionsStuck.Load(), Cached: int64(cached), CachedBytes: int64(bytes),
		TasksFetched: c.TasksFetched.Load(), TasksHandedOff: c.TasksHandedOff.Load(),
		AttemptsRunning: c.AttemptsRunning.Load(), AttemptsCompleted: c.AttemptsCompleted.Load(),
		AttemptsFailed: c.AttemptsFailed.Load(), AttemptsRetried: c.AttemptsRetried.Load(), AttemptsCancelled: c.AttemptsCancelled.Load(),
		AttemptsDiscarded: c.AttemptsDiscarded.Load(), AttemptsLeaked: c.AttemptsLeaked.Load(),
		ResultsLate:      c.ResultsLate.Load(),
		AttemptsReleased: c.AttemptsReleased.Load(), AttemptsPoisoned: c.AttemptsPoisoned.Load(),
		AttemptsPending: c.AttemptsPending.Load(), AttemptsParked: c.AttemptsParked.Load(),
		AttemptsLocal: c.AttemptsLocal.Load(), LocalsQueued: c.LocalsQueued.Load(),
		SuspectsDelayed: c.SuspectsDelayed.Load(), LeasesLost: d.node.Store.LeasesLost.Load(), StorageErrors: d.node.Store.Errors.Load(),
	}
	stats.HandlersLate = c.HandlersLate.Load()
	stats.EventHandlersFailed, stats.ErrorsUnread = c.EventHandlersFailed.Load(), c.ErrorsUnread.Load()
	stats.HeadersLeftOut, stats.PropagatorsFailed = c.HeadersLeftOut.Load(), c.PropagatorsFailed.Load()
	stats.FiguresLost = c.FiguresLost.Load()
	stats.QueriesAnswered, stats.QueriesCold = c.QueriesAnswered.Load(), c.QueriesCold.Load()
	stats.QueriesLeaked, stats.QueriesRunning = d.queries.Leaks()
	leaks := d.node.Watchdog.Figures()
	stats.LeaksWatched, stats.LeaksRunning, stats.LeaksGivenUp = leaks.Watched, leaks.Running, leaks.GivenUp
	stats.LeaksRecovered, stats.LeakedInstances = leaks.Recovered, leaks.Instances
	return stats
}
