package relational

import "github.com/perdure/perdure/provider"

// lane returns the lane of a new task, and false if it has none.
func lane(stored *provider.NewTask) (Lane, bool) {
	return Lane{stored.Queue, stored.FairnessKey}, stored.FairnessKey != "" && stored.NotBefore == 0 && stored.Lease == nil
}

// ranks are the last ranks of the lanes that a commit added tasks to. They follow start-time fair queueing (Goyal, Vin and
// Cheng, 1996). A task starts when its predecessor in the lane ends, which takes one FairnessStep. It does not start
// before the virtual time, which is the start of the first waiting task. Concurrent groups may give one rank twice,
// because no lock orders them.
type ranks map[Lane]provider.Time

// next returns the rank of one more task of a lane.
func (r *ranks) next(t *Tx, of Lane) (provider.Time, error) {
	last, known := (*r)[of]
	if !known {
		waiting, err := t.Rows.LaneRanks(of)
		if err != nil {
			return 0, err
		}
		if last = waiting.Last; last == 0 {
			last = waiting.First.Add(-provider.FairnessStep)
		}
	}
	rank := max(t.Now, last.Add(provider.FairnessStep))
	if *r == nil {
		*r = make(ranks)
	}
	(*r)[of] = rank
	return rank, nil
}
