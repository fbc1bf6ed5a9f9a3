package validations

import (
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// wakeCalls is how many short calls may follow an event until the call that waits for it is back. A busy machine slows all of them.
const wakeCalls = 300

// untilBack makes short calls after an event until the waiting call is back. It returns how many.
func untilBack(t *trial, back *atomic.Bool) (calls int) {
	for !t.inTurn && calls < wakeCalls && !back.Load() {
		t.pass(blink)
		calls++
	}
	return calls
}

// awaitedBehind lets fetches begin to wait as their event comes, while the store is busy. A fetch that listens only after it has
// looked misses an event in between. It finds the event at its next look, and other calls count how late that is.
func awaitedBehind(t *trial) {
	b := newBustle(t)
	i := t.begin("i")
	for round := range meetings {
		var back atomic.Bool
		var calls int
		var got []turn
		b.behind(t, 2, func(n int) {
			if t.waits(n, round) {
				got = t.fetch(wait, named("i"))
				back.Store(true)
				return
			}
			t.send(i.Key, text("m"))
			calls = untilBack(t, &back)
		})
		t.mustf(len(got) == 1 && calls < wakeCalls, "round %d: got %d turns, and %d short calls passed meanwhile, want 1 turn at once", round, len(got), calls)
		t.commit(commitOf(got[0]))
	}
}

// awaitedTasksBehind is awaitedBehind for tasks.
func awaitedTasksBehind(t *trial) {
	b := newBustle(t)
	i := t.begin("i")
	for round := range meetings {
		var back atomic.Bool
		var calls int
		var got []leasedTask
		req := next(i)
		req.Tasks = []provider.NewTask{newTask(int64(round + 1))}
		b.behind(t, 2, func(n int) {
			if t.waits(n, round) {
				got = t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience })
				back.Store(true)
				return
			}
			t.commit(req)
			calls = untilBack(t, &back)
		})
		t.mustf(len(got) == 1 && calls < wakeCalls, "round %d: got %d tasks, and %d short calls passed meanwhile, want 1 task at once", round, len(got), calls)
		i.Version = req.Commit
	}
}

// waits reports whether caller n of two waits in a round. In turn the second one does.
func (t *trial) waits(n, round int) bool {
	if t.inTurn {
		return n == 1
	}
	return n == round%2
}
