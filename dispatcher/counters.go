package dispatcher

import "sync/atomic"

// counters are those of Stats.
type counters struct {
	turnsFetched, turnsCommitted, turnsFast, turnsConflicted, turnsFailed, turnsStuck, turnsRunning atomic.Int64
	turnsEager                                                                                      atomic.Int64
	eventsBuried, eventsUnread                                                                      atomic.Int64
	coldReplays, messagesDropped, cacheEvictions, evictionsStuck                                    atomic.Int64
	tasksFetched, tasksHandedOff, attemptsRunning, attemptsCompleted, attemptsFailed                atomic.Int64
	attemptsRetried, attemptsDiscarded, attemptsLeaked, attemptsReleased, attemptsPoisoned          atomic.Int64
	attemptsCancelled                                                                               atomic.Int64
	attemptsLocal, localsQueued                                                                     atomic.Int64
	suspectsDelayed, resultsLate, attemptsPending, attemptsParked                                   atomic.Int64
}
