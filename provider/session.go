package provider

import "time"

// SessionClaim holds the terms on which a fetch takes tasks with a session; see Provider.FetchTasks.
type SessionClaim struct {
	Max   int           // how many sessions Owner may hold; 0: no task with a session is returned
	Lease time.Duration // from the last call of Owner
	Idle  time.Duration // from the last use of the session; the fetch that takes the session sets it
}

func (s SessionClaim) check() error {
	var c checker
	c.rows("Max", s.Max, 0, MaxBatch)
	if s.Max > 0 {
		c.lease("Lease", s.Lease)
		c.lease("Idle", s.Idle)
	}
	return c.err
}
