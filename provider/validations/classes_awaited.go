package validations

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// awaitedCases meets each call that waits with each event that ends the wait, while the call waits and as it begins to.
func awaitedCases() []testCase {
	const blocks = "The call blocks up to Wait while nothing is fetchable and returns as soon as " +
		"something is. When Wait has passed, it returns an empty result, not an error."
	const ended = "With WaitEnded it blocks until the instance has ended, until the instance is Blocked and " +
		"WaitBlocked is set, or until Wait has passed."
	const tasks = "The call blocks up to Wait while nothing is fetchable, as FetchTurns does."
	return []testCase{
		{name: "awaited-turns", run: awaitedTurns, broad: true, rule: blocks},
		{name: "awaited-turns-at-once", run: racedTurnWaits, broad: true, rule: blocks},
		{name: "awaited-turns-behind", run: awaitedBehind, broad: true, rule: blocks},
		{name: "awaited-tasks-behind", run: awaitedTasksBehind, broad: true, rule: tasks},
		{name: "awaited-tasks", run: awaitedTasks, broad: true, rule: tasks},
		{name: "awaited-tasks-at-once", run: racedTaskWaits, broad: true, rule: tasks},
		{name: "awaited-ends", run: awaitedEnds, broad: true, rule: ended},
		{name: "awaited-end-of-the-blocked", run: awaitedBlocked, broad: true, rule: ended},
		{
			name: "awaited-end-of-the-replaced", run: awaitedReplaced, broad: true,
			rule: "With an ID it waits for the instance that it finds first, not for a successor under the ID.",
		},
		{name: "awaited-ends-at-once", run: racedEndWaits, broad: true, rule: ended},
		{name: "awaited-questions-at-once", run: racedAskWaits, broad: true, rule: "The call blocks up to Wait."},
		{
			name: "awaited-answers-at-once", run: racedAnswerWaits, broad: true,
			rule: "Ask stores a question outside the inbox. It blocks until the question is answered, Wait has passed " +
				"([ErrNoAnswer]) or the context is done.",
		},
		{
			name: "close-waits", run: closeWaits, broad: true,
			rule: "A call in progress succeeds, is refused as always, or returns ErrClosed and has changed nothing.",
		},
	}
}

func awaitedTurns(t *trial) {
	n := 0
	for name, prepare := range turnEvents(t) {
		n++
		id := fmt.Sprint("i", n)
		act := prepare(id)
		fetched := parkedFetch(t, named(id))
		act()
		list := fetched()
		t.checkf(len(list) == 1, "a fetch that waits for the event %q got %d turns, want 1", name, len(list))
	}
}

// racedTurnWaits begins to wait as the event comes. A fetch that looks before it listens misses it.
func racedTurnWaits(t *trial) {
	i := t.begin("i")
	for round := range 2 * rounds {
		var got []turn
		began := time.Now()
		t.parallel(2, func(n int) {
			if t.waits(n, round) {
				got = t.fetch(wait, named("i"))
				return
			}
			t.stagger(round)
			t.send(i.Key, text("m"))
		})
		t.mustf(len(got) == 1 && time.Since(began) < patience, "round %d: got %d turns after %v, want 1 at once", round, len(got), time.Since(began))
		t.commit(commitOf(got[0]))
	}
}

// stagger lets a little time pass, more in some rounds than in others.
func (t *trial) stagger(round int) {
	if round%3 == 0 || t.inTurn {
		return
	}
	for range (round % 7) * 200 { // some microseconds
		_ = unique()
	}
}

func awaitedTasks(t *trial) {
	n := 0
	for name, prepare := range taskEvents(t) {
		n++
		id := fmt.Sprint("i", n)
		act := prepare(id)
		fetched := parked(t, func() []leasedTask {
			return t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience }, fromQueue(id))
		})
		act()
		list := fetched()
		t.checkf(len(list) == 1, "a fetch that waits for the event %q got %d tasks, want 1", name, len(list))
	}
}

func racedTaskWaits(t *trial) {
	i := t.begin("i")
	for round := range 2 * rounds {
		var got []leasedTask
		req := next(i)
		req.Tasks = []provider.NewTask{newTask(int64(round + 1))}
		began := time.Now()
		t.parallel(2, func(n int) {
			if t.waits(n, round) {
				got = t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = patience })
				return
			}
			t.stagger(round)
			t.commit(req)
		})
		t.mustf(len(got) == 1 && time.Since(began) < patience, "round %d: got %d tasks after %v, want 1 at once", round, len(got), time.Since(began))
		i.Version = req.Commit
	}
}

// endEvents end the wait of a Get.
func endEvents(t *trial) map[string]func(i provider.Instance) {
	return map[string]func(i provider.Instance){
		"close":       func(i provider.Instance) { t.commit(closing(i)) },
		"termination": func(i provider.Instance) { t.steer(i.Key, provider.SteerTerminate) },
		"block": func(i provider.Instance) {
			t.send(i.Key, text("m"))
			t.block(t.fetchOne(named(i.ID)), true)
		},
	}
}

func awaitedEnds(t *trial) {
	n := 0
	for name, end := range endEvents(t) {
		n++
		i := t.begin(fmt.Sprint("i", n))
		waits := parkedGet(t, i.Key, true)
		end(i)
		got := waits()
		t.checkf(got.Status.Ended() || got.Blocked != nil, "a Get that waits for the event %q returned %+v, want it ended or blocked", name, got)
	}
}

// awaitedBlocked waits for the end only. An instance that is blocked does not end the wait.
func awaitedBlocked(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	got := parkedGet(t, i.Key, false)
	t.block(u, true)
	t.pass(short)
	t.steer(i.Key, provider.SteerTerminate)
	is(t, "the status after the wait", got().Status, provider.StatusTerminated)
}

// tries is how often a case may repeat what needs a call to begin in time.
const tries = 5

// awaitedReplaced replaces the instance while callers wait for its end by ID. On a busy machine a few calls may begin so late that
// they find the successor, which therefore ends, too.
func awaitedReplaced(t *trial) {
	i := t.begin("i")
	late := 0
	for range rounds {
		got := parked(t, func() provider.Instance {
			res, err := t.Get(t.ctx, provider.GetRequest{ID: "i", WaitEnded: true, Wait: patience})
			t.ok(err)
			return res.Instance
		})
		t.steer(i.Key, provider.SteerTerminate)
		successor := t.create("i", replace)
		t.steer(successor.Key, provider.SteerTerminate)
		ended := got()
		if ended.Key == successor.Key {
			late++
		}
		t.mustf((ended.Key == i.Key || late < tries) && ended.Status == provider.StatusTerminated,
			"the wait returned %v, want the instance %s, Terminated", ended, i.Key)
		i = t.create("i", replace)
	}
}

func racedEndWaits(t *trial) {
	for round := range rounds {
		i := t.begin(fmt.Sprint("i", round))
		var got provider.Instance
		began := time.Now()
		t.parallel(2, func(n int) {
			if t.waits(n, round) {
				res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: patience})
				t.ok(err)
				got = res.Instance
				return
			}
			t.stagger(round)
			t.commit(closing(i))
		})
		t.mustf(got.Status == provider.StatusCompleted && time.Since(began) < patience,
			"round %d: status %s after %v, want Completed at once", round, got.Status, time.Since(began))
	}
}

func racedAskWaits(t *trial) {
	if t.inTurn {
		return
	}
	i := t.create("i")
	for round := range rounds {
		var open provider.OpenAsk
		began := time.Now()
		var answered func() answer
		t.parallel(2, func(n int) {
			if (n+round)%2 == 0 {
				open = fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Wait = patience })
				return
			}
			t.stagger(round)
			answered = parkedAsk(t, i.Key)
		})
		t.mustf(time.Since(began) < patience, "round %d: the question came after %v, want it at once", round, time.Since(began))
		t.ok(answerAsk(t, open.AskID))
		t.ok(answered().err)
	}
}

func racedAnswerWaits(t *trial) {
	if t.inTurn {
		return
	}
	i := t.create("i")
	for round := range rounds {
		began := time.Now()
		var err error
		t.parallel(2, func(n int) {
			if (n+round)%2 == 0 {
				_, err = t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: patience})
				return
			}
			t.ok(answerAsk(t, fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Wait = patience }).AskID))
		})
		t.mustf(err == nil && time.Since(began) < patience, "round %d: Ask returned %v after %v, want the answer at once", round, err, time.Since(began))
	}
}

// closeWaits closes the provider under its callers. Each call succeeds or returns ErrClosed. None succeeds long after Close has returned.
func closeWaits(t *trial) {
	const callers = 8
	i := t.begin("i")
	if !t.inTurn {
		t.ctx = yielding{t.ctx} // a call in progress waits for others
	}
	last := make([]time.Time, callers)
	var closed time.Time
	t.parallel(callers+1, func(n int) {
		if n == callers {
			t.pass(short)
			t.ok(t.Close())
			closed = time.Now()
			return
		}
		for k := 0; !t.inTurn; k++ {
			_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
			if err != nil {
				t.want(err, provider.ErrClosed)
				return
			}
			last[n] = time.Now()
			if k%callers == n {
				_, _ = t.store.FetchTurns(t.ctx, with(fetchRequest(), func(r *provider.FetchTurnsRequest) { r.Wait = blink }))
			}
		}
	})
	for _, at := range last {
		late := at.Sub(closed)
		t.checkf(late < patience/10, "a call succeeded %v after Close had returned, want it to wait for calls in progress", late)
	}
	_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
	t.want(err, provider.ErrClosed)
}
