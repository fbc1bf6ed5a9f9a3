package core

import "sync/atomic"

// Counters are the counters of Stats.
type Counters struct {
	TurnsFetched, TurnsCommitted, TurnsFast, TurnsConflicted, TurnsFailed, TurnsStuck, TurnsRunning atomic.Int64
	TurnsEager                                                                                      atomic.Int64
	HeadersLeftOut, PropagatorsFailed, FiguresLost                                                  atomic.Int64
	EventsBuried, EventsUnread, EventHandlersFailed, HandlersLate, ErrorsUnread, StateRefused       atomic.Int64
	ColdReplays, MessagesDropped, CacheEvictions, EvictionsStuck                                    atomic.Int64
	TasksFetched, TasksHandedOff, AttemptsRunning, AttemptsCompleted, AttemptsFailed                atomic.Int64
	AttemptsRetried, AttemptsDiscarded, AttemptsLeaked, AttemptsReleased, AttemptsPoisoned          atomic.Int64
	AttemptsCancelled                                                                               atomic.Int64
	AttemptsLocal, LocalsQueued                                                                     atomic.Int64
	QueriesAnswered, QueriesCold                                                                    atomic.Int64
	SuspectsDelayed, ResultsLate, AttemptsPending, AttemptsParked                                   atomic.Int64
}
