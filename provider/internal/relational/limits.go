package relational

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// Gated reports whether limits of queues or sessions can ever restrict what a fetch takes.
func Gated(req *provider.FetchTasksRequest) bool { return req.Sessions.Max > 0 || Bounded(req) }

// GatedNow reports whether limits or sessions restrict a fetch now. Most fetches claim sessions, and a store without
// tasks in sessions must not pay for that.
func GatedNow(req *provider.FetchTasksRequest, kinds *Kinds) bool {
	return Bounded(req) || req.Sessions.Max > 0 && kinds.Sessions()
}

// Bounded reports whether a fetch limits queues.
func Bounded(req *provider.FetchTasksRequest) bool {
	return slices.ContainsFunc(req.Queues, func(q provider.QueueFilter) bool { return q.MaxLeased > 0 })
}

// Limits returns how many tasks of each queue may be leased at once, for the queues that a fetch limits.
func Limits(req *provider.FetchTasksRequest) map[string]int {
	limits := make(map[string]int)
	for _, q := range req.Queues {
		if limit, known := limits[q.Queue]; q.MaxLeased > 0 && (!known || q.MaxLeased < limit) {
			limits[q.Queue] = q.MaxLeased
		}
	}
	return limits
}

// WaitsFor reports whether a fetch may continue when the lease of a task of the kind ends: in a queue that it limits,
// or in a session.
func WaitsFor(req *provider.FetchTasksRequest, kind TaskKind) bool {
	return kind.Class&InSession != 0 && req.Sessions.Max > 0 ||
		slices.ContainsFunc(req.Queues, func(q provider.QueueFilter) bool { return q.MaxLeased > 0 && q.Queue == kind.Queue })
}

// Unblocking returns the kinds whose tasks may let a fetch continue when they end, each with its queue: those of the queues
// that it limits, and those in sessions if it claims any.
func (k *Kinds) Unblocking(req *provider.FetchTasksRequest) (ids []int64, queues []string) {
	limits := Limits(req)
	for queue := range limits {
		for _, id := range k.queues[queue] {
			ids, queues = append(ids, id), append(queues, queue)
		}
	}
	if req.Sessions.Max == 0 {
		return ids, queues
	}
	for _, id := range k.sessions {
		queue := k.ByTask[id].Queue
		if _, limited := limits[queue]; !limited {
			ids, queues = append(ids, id), append(queues, queue)
		}
	}
	return ids, queues
}
