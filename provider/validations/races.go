package validations

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// The cases of this file have many concurrent callers. A rule that holds for one caller must hold for all of them together. Each case
// belongs to the group of the sentence that it checks.

func fetchRaces() []testCase {
	const leased = "No unexpired turn lease holds it."
	return []testCase{
		{
			name: "racing-parked-fetchers", run: raceParked, broad: true,
			rule: "The call blocks up to Wait while nothing is fetchable and returns as soon as something is.",
		},
		{name: "racing-for-one", run: raceHolder, rule: leased},
		{name: "racing-for-an-expired-lease", run: raceExpired, rule: leased},
		{name: "racing-capabilities", run: raceCapabilities, rule: "Its (name, version) is among Capabilities."},
	}
}

func sendRaces() []testCase {
	return []testCase{
		{name: "race-with-turns", run: raceMessages, rule: "A turn consumes messages and extends the history in one commit."},
		{name: "race-with-a-commit", run: raceReady, rule: "It has a visible message, or its ReadyAt has come."},
	}
}

func deliverRaces() []testCase {
	return []testCase{
		{name: "crossed-sends", run: raceCrossed, rule: "Commits of different instances never fail each other."},
	}
}

func taskRaces() []testCase {
	return []testCase{
		{name: "racing-with-creation", run: raceFresh, rule: "Stale reads may only err towards Running"},
	}
}

func reportRaces() []testCase {
	const complete = "Complete removes the task and puts Message into the inbox of its instance, if the execution still runs."
	return []testCase{
		{name: "racing-with-renewals", run: raceReport, rule: complete},
	}
}

func cleanRaces() []testCase {
	return []testCase{
		{name: "races-at-one-id", run: raceID, rule: "Only Create, and the Starts of a commit, insert instances."},
	}
}

// Ten nodes wait and ten instances come. Each node gets a different one.
func raceParked(t *trial) {
	const nodes = 10
	var mu sync.Mutex
	got := map[provider.UUID]int{}
	t.parallel(2*nodes, func(n int) {
		if n%2 == 0 {
			t.create(fmt.Sprint("i", n))
			return
		}
		list := t.fetch(wait, func(r *provider.FetchTurnsRequest) { r.Owner, r.Max = fmt.Sprint("node-", n), 1 })
		mu.Lock()
		defer mu.Unlock()
		for _, u := range list {
			got[u.Instance.Key]++
		}
	})
	is(t, "different instances", len(got), nodes)
	for key, n := range got {
		t.checkf(n == 1, "%s was leased %d times at once, want 1", key, n)
	}
}

func raceHolder(t *trial) {
	t.create("i")
	for range 10 {
		turns := make(chan turn, 8)
		t.parallel(cap(turns), func(n int) {
			for _, u := range t.fetch(func(r *provider.FetchTurnsRequest) { r.Owner = fmt.Sprint("node-", n) }) {
				turns <- u
			}
		})
		t.mustf(len(turns) == 1, "%d nodes hold the lease, want 1", len(turns))
		t.ok(t.release(<-turns))
	}
}

// The holder is gone. One of the other nodes takes over, and one of both turns is stored.
func raceExpired(t *trial) {
	i := t.create("i")
	old := t.fetchOne(briefly)
	t.pass(2 * short)
	turns := make(chan turn, 6)
	t.parallel(cap(turns), func(n int) {
		for _, u := range t.fetch(func(r *provider.FetchTurnsRequest) { r.Owner = fmt.Sprint("node-", n) }) {
			turns <- u
		}
	})
	t.mustf(len(turns) == 1, "%d nodes took over, want 1", len(turns))
	now := <-turns
	t.checkf(now.Instance.Deliveries == 2, "%d deliveries, want 2", now.Instance.Deliveries)
	var stored atomic.Int64
	t.parallel(2, func(n int) {
		_, err := t.CommitTurn(t.ctx, commitOf([]turn{old, now}[n], fmt.Sprint("turn", n)))
		if err == nil {
			stored.Add(1)
			return
		}
		t.want(err, provider.ErrConflict)
	})
	t.checkf(stored.Load() == 1, "%d of the two turns were stored, want 1", stored.Load())
	i = t.get(i.Key)
	t.checkf(i.HistoryLength == 1 && i.InboxMessages == 0, "%d events, %d messages, want 1 and 0", i.HistoryLength, i.InboxMessages)
}

func raceCapabilities(t *trial) {
	const instances = 24
	for n := range instances {
		t.create(fmt.Sprint("i", n), func(r *provider.CreateRequest) { r.CodeVersion = fmt.Sprint("v", n%2) })
	}
	var mu sync.Mutex
	got := map[provider.UUID]int{}
	t.parallel(8, func(n int) {
		version := fmt.Sprint("v", n%2)
		for {
			list := t.fetch(func(r *provider.FetchTurnsRequest) { r.Max, r.Capabilities[0].CodeVersion = 2, version })
			if len(list) == 0 {
				return
			}
			mu.Lock()
			for _, u := range list {
				got[u.Instance.Key]++
				is(t, "the code version of the fetched instance", u.Instance.CodeVersion, version)
			}
			mu.Unlock()
		}
	})
	is(t, "instances fetched", len(got), instances)
	for key, n := range got {
		t.checkf(n == 1, "%s was leased %d times at once, want 1", key, n)
	}
}

// Nodes consume the messages of three senders. Some leases expire at once. The histories show that each message was consumed
// once, in the order of its sender.
func raceMessages(t *trial) {
	const senders, each = 3, 20
	instances := []provider.Instance{t.create("a"), t.create("b")}
	var left atomic.Int64
	left.Store(int64(len(instances) * (senders*each + 1)))
	t.parallel(senders+4, func(n int) {
		if n >= senders {
			consumeAll(t, n, &left)
			return
		}
		for k := range each {
			for _, i := range instances {
				t.send(i.Key, text(fmt.Sprintf("%d/%d", n, k)))
			}
		}
	})
	for _, i := range instances {
		next := [senders]int{}
		for _, e := range t.history(i.Key, 0)[1:] { // after the start
			var id, from, k int
			_, err := fmt.Sscanf(e, "%d:%d/%d", &id, &from, &k)
			t.mustf(err == nil && k == next[from], "event %s: want message %d of the sender", e, next[from])
			next[from]++
		}
		t.checkf(next == [senders]int{each, each, each}, "consumed %v messages of each sender, want %d", next, each)
	}
}

// consumeAll commits turns until no message is left. Every other lease expires at once.
func consumeAll(t *trial, node int, left *atomic.Int64) {
	for round := node; left.Load() > 0 && t.ctx.Err() == nil; round++ {
		for _, u := range t.fetch(func(r *provider.FetchTurnsRequest) {
			r.Owner, r.Max, r.MaxMessages, r.Wait = fmt.Sprint("node-", node), 1, 3, short
			if round%2 == 0 {
				r.Lease = 1
			}
		}) {
			req := commitOf(u)
			for _, m := range u.Messages {
				req.Events = append(req.Events, m.Payload)
			}
			_, err := t.CommitTurn(t.ctx, req)
			if err == nil {
				left.Add(-int64(len(req.Consumed)))
				continue
			}
			t.want(err, provider.ErrConflict)
			_ = t.release(u) // the lease may be lost
		}
	}
}

// A message arrives while a turn without it is stored.
func raceReady(t *trial) {
	i := t.begin("i")
	seen := t.send(i.Key, text("m")).MessageID
	for round := range 40 {
		req := next(i)
		req.Consumed = []int64{seen}
		t.parallel(2, func(n int) {
			if n == 0 {
				seen = t.send(i.Key, text(fmt.Sprint("m", round))).MessageID
				return
			}
			t.commit(req)
		})
		i = t.get(i.Key)
		t.mustf(i.ReadyAt != 0 && i.InboxMessages == 1, "round %d: %d messages, ready at %d, want 1 message and a time", round, i.InboxMessages, i.ReadyAt)
		u := t.fetch(named("i"))
		t.mustf(len(u) == 1 && len(u[0].Messages) == 1 && u[0].Messages[0].ID == seen, "round %d: got %+v, want the turn with the waiting message", round, u)
		t.ok(t.release(u[0]))
	}
}

// A task is fetched while its instance is being created. Its execution never counts as gone.
func raceFresh(t *trial) {
	const makers, each = 3, 10
	var left atomic.Int64
	left.Store(makers * each)
	t.parallel(makers+2, func(n int) {
		if n < makers {
			for k := range each {
				req := next(t.create(fmt.Sprint(n, "-", k)))
				req.Tasks = []provider.NewTask{newTask(1)}
				t.commit(req)
			}
			return
		}
		for left.Load() > 0 && t.ctx.Err() == nil {
			for _, task := range t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Wait = short }) {
				left.Add(-1)
				t.checkf(task.State.Kind == provider.ExecutionRunning, "a new task has state %+v, want Running", task.State)
				res := t.renew(renewal(task))
				t.checkf(res.State.Kind == provider.ExecutionRunning && res.Err == nil, "the renewal of a new task returned %+v, want state Running and no error", res)
			}
		}
	})
}

// Instances send to each other in opposite orders. No commit fails another one, and none waits forever.
func raceCrossed(t *trial) {
	const instances, rounds = 6, 8
	made := make([]provider.Instance, instances)
	for n := range made {
		made[n] = t.begin(fmt.Sprint("i", n))
	}
	t.parallel(instances, func(n int) {
		own := made[n]
		for round := range rounds {
			req := next(own)
			for k := range instances - 1 {
				to := made[(n+1+k)%instances].Key
				req.Sends = append(req.Sends, provider.OutMessage{Key: to, Message: text(fmt.Sprintf("%d/%d", n, round))})
			}
			t.commit(req)
			own.Version = req.Commit
		}
	})
	for n, i := range made {
		next := [instances]int{}
		u := t.fetchOne(named(i.ID))
		for _, m := range u.Messages {
			var from, round int
			_, err := fmt.Sscanf(string(m.Payload), "%d/%d", &from, &round)
			t.mustf(err == nil && round == next[from], "%s got %s, want message %d of the sender", i.ID, m.Payload, next[from])
			next[from]++
		}
		next[n] += rounds
		for from, got := range next {
			t.checkf(got == rounds, "%s got %d messages of sender %d, want %d", i.ID, got, from, rounds)
		}
	}
}

// Renewals and a suspension come between the reports of two nodes for the same tasks.
func raceReport(t *trial) {
	const tasks = 12
	list := make([]provider.NewTask, tasks)
	for n := range list {
		list[n] = newTask(int64(n + 1))
	}
	i := t.beginTasks(list...)
	leased := t.fetchTasks()
	t.mustf(len(leased) == tasks, "got %d tasks, want %d", len(leased), tasks)
	var done atomic.Int64
	t.parallel(5, func(n int) {
		for k, task := range leased {
			switch n {
			case 0:
				t.steer(i.Key, []provider.SteerAction{provider.SteerSuspend, provider.SteerResume}[k%2])
			case 1, 2:
				res := t.renew(renewal(task))
				t.checkf(res.Err == nil || errors.Is(res.Err, provider.ErrLeaseLost), "the renewal returned %+v, want no error or ErrLeaseLost", res)
			default:
				if err := t.report(task, provider.TaskComplete).Err; err == nil {
					done.Add(1)
				} else {
					t.want(err, provider.ErrLeaseLost)
				}
			}
		}
	})
	t.checkf(done.Load() == tasks, "%d reports were accepted, want %d", done.Load(), tasks)
	t.checkf(t.get(i.Key).InboxMessages == tasks, "%d results in the inbox, want %d", t.get(i.Key).InboxMessages, tasks)
	t.tasksAre(i.Key, "")
}

// A create, a delete and commits meet at one ID. Nothing of the deleted instance remains, whichever comes first.
func raceID(t *trial) {
	for round := range 12 {
		old := t.create("i")
		successor := createRequest("i")
		t.parallel(4, func(n int) {
			switch (n + round) % 4 {
			case 0:
				t.remove(old.Key, true)
			case 1:
				if _, err := t.Create(t.ctx, successor); err != nil {
					t.want(err, provider.ErrExists)
					successor.Key = provider.UUID{}
				}
			default:
				req := next(old, "event")
				req.Tasks = []provider.NewTask{newTask(1)}
				if _, err := t.CommitTurn(t.ctx, req); err != nil {
					t.want(err, provider.ErrConflict)
				}
			}
		})
		t.gone(old.Key)
		if !successor.Key.IsZero() {
			is(t, "the key under the ID", t.byID("i").Key, successor.Key)
			t.remove(successor.Key, true)
		}
		n, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{Replaced: true}})
		t.ok(err)
		t.mustf(n.Count == 0 && len(t.fetchTasks()) == 0, "%d instances or tasks of them remain, want none", n.Count)
	}
}
