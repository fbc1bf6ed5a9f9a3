package relational

import "github.com/perdure/perdure/provider"

// Lane is where tasks of one fairness key follow each other.
type Lane struct{ Queue, Key string }

// lane answers the lane of a new task; false if it takes no turn.
func lane(stored *provider.NewTask) (Lane, bool) {
	return Lane{stored.Queue, stored.FairnessKey}, stored.FairnessKey != "" && stored.NotBefore == 0 && stored.Lease == nil
}

// Turns are the ranks of tasks with fairness keys that wait for their first lease; 0 for none.
type Turns struct {
	First provider.Time // of any key of the queue
	Last  provider.Time // of the lane
}

// turns gives the new tasks of one commit their ranks. This is start-time fair queueing (Goyal, Vin and Cheng, 1996): a task
// starts when the one before it in its lane ends, which lasts a FairnessStep, and not before the virtual time, which
// is the start of the first that waits. Commits of several groups may give one rank twice: no lock makes them wait.
type turns map[Lane]provider.Time

func (k *turns) take(t *Tx, of Lane) (provider.Time, error) {
	last, known := (*k)[of]
	if !known {
		waiting, err := t.Rows.Turns(of)
		if err != nil {
			return 0, err
		}
		if last = waiting.Last; last == 0 {
			last = waiting.First.Add(-provider.FairnessStep)
		}
	}
	rank := max(t.Now, last.Add(provider.FairnessStep))
	if *k == nil {
		*k = make(turns)
	}
	(*k)[of] = rank
	return rank, nil
}
