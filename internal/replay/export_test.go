package replay

// What the tests, which are in package replay_test so that their code counts as a user's,
// need of the package's inside.
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

// Pending answers the event IDs of what the execution waits for.
func (x *Execution) Pending() []int64 {
	ids := make([]int64, 0, len(x.pending))
	for id := range x.pending {
		ids = append(ids, id)
	}
	return ids
}
