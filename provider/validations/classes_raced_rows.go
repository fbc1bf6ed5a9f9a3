package validations

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// rowRaces lets all methods that write the same row meet. An act that writes what it read before its transaction undoes the others.
func rowRaces() []testCase {
	return []testCase{
		{
			name: "race-at-one-instance", run: racedRow, broad: true,
			rule: "Writes to one instance, task or record apply one after the other. None undoes another.",
		},
		{
			name: "race-of-deletes-and-resets", run: racedDeletes, broad: true,
			rule: "it returns [ErrRunning] if the instance or one below it is running",
		},
		{
			name: "race-at-one-task", run: racedTask, broad: true,
			rule: "An item whose token does not hold the task gets the error ErrLeaseLost. So does a repeat of an item that was stored before.",
		},
		{
			name: "race-of-task-steering", run: racedTaskSteering, broad: true, lacks: lacking[provider.TaskSteerer],
			rule: "If the task is not pending, or its execution does not run, the call returns [ErrNotFound].",
		},
		{
			name: "race-of-renewals-and-closes", run: racedRenewals, broad: true,
			rule: "A lease is extended only while the execution is Running; Suspended counts as Running.",
		},
	}
}

// A tally collects what acts that run at once have stored.
type tally struct {
	mu       sync.Mutex
	messages []string
	events   int64
	consumed bool
}

func (s *tally) note(change func(*tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// racedRow writes one instance in each way that the core has. Acknowledged writes are there afterwards.
func racedRow(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		id := fmt.Sprint("i", round)
		t.begin(id, func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		i := t.byID(id)
		t.send(i.Key, text("first"))
		task, u := t.fetchTask(), t.fetchOne(named(id))
		var stored tally
		acts := rowActs(t, u, task, &stored)
		b.behind(t, len(acts), func(n int) { acts[(n+round)%len(acts)]() })
		checkTally(t, round, u, &stored)
	}
}

// rowActs are acts on a fetched turn and its instance. Each notes what it has stored.
func rowActs(t *trial, u turn, task leasedTask, stored *tally) []func() {
	key := u.Instance.Key
	said := func(word string) { stored.note(func(s *tally) { s.messages = append(s.messages, word) }) }
	return []func(){
		func() {
			t.send(key, text("sent"))
			said("sent")
		},
		func() {
			_, err := t.CommitTurn(t.ctx, commitOf(u, "event"))
			if err != nil {
				t.want(err, provider.ErrConflict)
				return
			}
			stored.note(func(s *tally) { s.events, s.consumed = s.events+1, true })
		},
		func() {
			if err := t.release(u); err != nil {
				t.want(err, provider.ErrLeaseLost)
			}
		},
		func() {
			t.joins(key, join(u.Instance.ID, "", "joined"))
			said("joined")
		},
		func() {
			t.steer(key, provider.SteerResume, func(r *provider.SteerRequest) { r.Event = []byte("resumed") })
			stored.note(func(s *tally) { s.events++ })
		},
		func() {
			t.ok(t.report(task, provider.TaskComplete).Err)
			said("result")
		},
	}
}

// checkTally checks that an instance has what was stored, and nothing else.
func checkTally(t *trial, round int, u turn, stored *tally) {
	if !stored.consumed {
		stored.messages = append(stored.messages, "first")
	}
	slices.Sort(stored.messages)
	want, events := strings.Join(stored.messages, " "), 1+stored.events
	i := t.get(u.Instance.Key)
	t.mustf(i.InboxMessages == int64(len(stored.messages)) && i.HistoryLength == events && int64(len(t.history(i.Key, 0))) == events,
		"round %d: %d messages and %d events, %d of them readable, want %d messages and %d events: each acknowledged write is there",
		round, i.InboxMessages, i.HistoryLength, len(t.history(i.Key, 0)), len(stored.messages), events)
	words := strings.Fields(t.fetchOne(named(i.ID)).payloads())
	slices.Sort(words)
	t.mustf(strings.Join(words, " ") == want, "round %d: the inbox has %q, want %q", round, strings.Join(words, " "), want)
}

// racedDeletes removes an ended instance while others reset it. An instance that was reset runs again, and nobody removes it.
func racedDeletes(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		i := t.end(t.begin(fmt.Sprint("i", round)))
		var removed, reset atomic.Int64
		b.behind(t, 4, func(n int) {
			switch (n + round) % 4 {
			case 0:
				res, err := t.Delete(t.ctx, provider.DeleteRequest{Key: i.Key})
				if err == nil {
					removed.Add(res.Instances)
					return
				}
				t.checkf(errors.Is(err, provider.ErrRunning) || errors.Is(err, provider.ErrNotFound), "Delete returned %v, want ErrRunning or ErrNotFound", err)
			case 2:
				removed.Add(prune(t, provider.PruneRequest{}))
			default:
				_, err := t.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerReset, Commit: unique()})
				if err == nil {
					reset.Add(1)
					return
				}
				t.want(err, provider.ErrNotFound)
			}
		})
		t.mustf(removed.Load() == 0 || reset.Load() == 0, "round %d: an instance was reset %d times and removed %d times, want one of both",
			round, reset.Load(), removed.Load())
		t.mustf(removed.Load() <= 1, "round %d: one instance was removed %d times, want once", round, removed.Load())
		if removed.Load() == 1 {
			t.gone(i.Key)
		} else {
			t.get(i.Key)
		}
	}
}

// wonOnce runs acts at once on the leased task 1 of a new instance. One of them completes the task.
func wonOnce(t *trial, b *bustle, round int, acts func(i provider.Instance, task leasedTask) []func() error) {
	i := t.begin(fmt.Sprint("i", round), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
	list := acts(i, t.fetchTask())
	var won atomic.Int64
	b.behind(t, len(list), func(n int) {
		if list[(n+round)%len(list)]() == nil {
			won.Add(1)
		}
	})
	t.mustf(won.Load() == 1, "round %d: a task was completed %d times, want once", round, won.Load())
	is(t, fmt.Sprintf("messages in round %d", round), t.get(i.Key).InboxMessages, 1)
	t.tasksAre(i.Key, "")
}

// racedTask reports one task several times at once.
func racedTask(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		wonOnce(t, b, round, func(_ provider.Instance, task leasedTask) []func() error {
			complete := func() error { return t.lostOr(t.report(task, provider.TaskComplete).Err) }
			return []func() error{complete, complete, complete, func() error { return t.lostOr(t.report(task, provider.TaskPoison).Err) }}
		})
	}
}

// lostOr returns the error of an item, which may be ErrLeaseLost.
func (t *trial) lostOr(err error) error {
	if err != nil {
		t.want(err, provider.ErrLeaseLost)
	}
	return err
}

// racedTaskSteering completes one task from outside, several times at once and against its holder.
func racedTaskSteering(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		wonOnce(t, b, round, func(_ provider.Instance, task leasedTask) []func() error {
			complete := func() error {
				_, err := t.actOn(task.TaskRef, task.Attempt, provider.SteerTaskComplete)
				if err != nil {
					t.want(err, provider.ErrNotFound)
				}
				return err
			}
			return []func() error{complete, complete, complete, func() error { return t.lostOr(t.report(task, provider.TaskComplete).Err) }}
		})
	}
}

// racedRenewals renews the lease of a task while its execution ends. Each renewal returns one state of the store.
func racedRenewals(t *trial) {
	b := newBustle(t)
	for round := range meetings {
		i := t.begin(fmt.Sprint("i", round), func(r *provider.CommitTurnRequest) { r.Tasks = []provider.NewTask{newTask(1)} })
		task := t.fetchTask()
		b.behind(t, 5, func(n int) {
			if (n+round)%5 == 0 {
				t.commit(closing(i))
				return
			}
			res := t.renew(renewal(task))
			extended := res.State.Kind == provider.ExecutionRunning && res.Err == nil && res.LeaseUntil > 0
			ended := res.State == terminal(provider.StatusCompleted) && res.LeaseUntil == 0
			t.mustf(extended || ended, "round %d: a renewal returned %+v, want a longer lease while Running, or Terminal without one", round, res)
		})
		is(t, "the state after the close", t.renew(renewal(task)).State, terminal(provider.StatusCompleted))
	}
}
