package replay

// The tests are in package replay_test, so that their code counts as a user's. They use these
// internals.
const (
	MaxSeen              = maxSeen
	MaxPendingActivities = maxPendingActivities
	MaxPending           = maxPending
	MaxBurst             = maxBurst
	MaxUnread            = maxUnread
	ReservedEvents       = reservedEvents
	ReservedBytes        = reservedBytes
	WarnEvents           = warnEvents
	WarnBytes            = warnBytes
	FlagOneByOne         = flagOneByOne
)

// Pending returns the event IDs of the pending operations.
func (x *Execution) Pending() []int64 {
	ids := make([]int64, 0, len(x.pending.futures))
	for id := range x.pending.futures {
		ids = append(ids, id)
	}
	return ids
}
