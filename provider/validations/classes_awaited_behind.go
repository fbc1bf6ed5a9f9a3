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
	i := t.begin("i")
	var got []turn
	t.awaitBehind(func(int) (fetch func() int, event func()) {
		if len(got) > 0 {
			t.commit(commitOf(got[0]))
		}
		return func() int {
			got = t.fetch(wait, named("i"))
			return len(got)
		}, func() { t.send(i.Key, text("m")) }
	})
}

// awaitedTasksBehind is awaitedBehind for tasks.
func awaitedTasksBehind(t *trial) {
	i := t.begin("i")
	t.awaitBehind(func(round int) (fetch func() int, event func()) {
		req := next(i)
		req.Tasks = []provider.NewTask{newTask(int64(round + 1))}
		i.Version = req.Commit
		return func() int {
			return len(t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience }))
		}, func() { t.commit(req) }
	})
}

// awaitBehind runs a fetch and its event at once in each round, while the store is busy. The fetch must be back soon after, with one item.
func (t *trial) awaitBehind(acts func(round int) (fetch func() int, event func())) {
	b := newBustle(t)
	for round := range meetings {
		fetch, event := acts(round)
		var back atomic.Bool
		var got, calls int
		b.behind(t, 2, func(n int) {
			if t.waits(n, round) {
				got = fetch()
				back.Store(true)
				return
			}
			event()
			calls = untilBack(t, &back)
		})
		t.mustf(got == 1 && calls < wakeCalls, "round %d: fetched %d items, and %d short calls passed meanwhile, want 1 item at once", round, got, calls)
	}
}

// waits reports whether caller n of two waits in a round. In turn the second one does.
func (t *trial) waits(n, round int) bool {
	if t.inTurn {
		return n == 1
	}
	return n == round%2
}
