package validations

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

//nolint:gochecknoglobals // flags
var (
	spreadSeed  = flag.Uint64("validations.handles.seed", 1, "seed of the cases that play through several handles")
	spreadCount = flag.Int("validations.handles", 10, "how many cases play through several handles; -1: all")
)

// Handles makes Run play through several handles of one store: the one that open made, and those that these functions open, each
// given the first. They stand for the processes of a service. So open each as a process of its own would, with caches of its
// own, and one of them without notices if the store can lose them.
//
// The random sequences of the case "model" draw a handle for each call. So do some of the other cases, which run again as
// "spread/GROUP/NAME". The flag -validations.handles sets how many.
func Handles(open ...func(t *testing.T, first provider.Provider) provider.Provider) Option {
	return func(o *options) { o.handles = open }
}

// modelHandles returns the functions of Handles as package model takes them.
func (o *options) modelHandles() (list []func(testing.TB, provider.Provider) provider.Provider) {
	for _, open := range o.handles {
		list = append(list, func(t testing.TB, first provider.Provider) provider.Provider {
			t.Helper()
			own, _ := t.(*testing.T) // model.Quick opens handles in tests
			return open(own, first)
		})
	}
	return list
}

// runSpread runs some cases again, with each call through a handle that is drawn.
func runSpread(t *testing.T, open func(t *testing.T) provider.Provider, o *options) {
	t.Helper()
	if len(o.handles) == 0 {
		return
	}
	var list []testCase
	for _, c := range cases() {
		if !c.slow && !c.within && !c.across && !ofOneHandle(c) {
			list = append(list, c)
		}
	}
	if n := *spreadCount; n >= 0 && n < len(list) {
		t.Logf("%d cases play through several handles: choose others with -validations.handles.seed=%d", n, *spreadSeed+1)
		draw := rand.New(rand.NewPCG(*spreadSeed, 0))
		draw.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:n]
	}
	for _, c := range list {
		t.Run("spread/"+c.group+"/"+c.name, func(t *testing.T) { runCase(t, c, open, o, true) })
	}
}

// ofOneHandle reports whether a case is about one handle: its notices, the figures that it counts, or how soon a call that waits
// hears of another one of the same process.
func ofOneHandle(c testCase) bool {
	switch c.group + "/" + c.name {
	case "deliver/refused-without-message", "read/stats-commits", "read/stats-turn-commits":
		return true
	}
	return c.group == "notify" || c.group == "migrate" || strings.HasPrefix(c.name, "awaited")
}

func handleCases() []testCase {
	const seen = "Handles. Several processes open one store, each with a handle of its own. Every call sees what calls through any handle " +
		"have stored before it. What a handle does not know, it reads: it never takes it for nothing."
	return []testCase{
		{name: "new-name", rule: seen, across: true, run: handlesNewName},
		{name: "new-queue", rule: seen, across: true, run: handlesNewQueue},
	}
}

// others returns the further handles of the store, or the only one.
func (t *trial) others() []*provider.Full {
	if len(t.handles) == 0 {
		return []*provider.Full{t.Full}
	}
	return t.handles
}

// An instance keeps its name when a handle changes it that does not know the name yet.
func handlesNewName(t *trial) {
	acts := []func(p *provider.Full, i provider.Instance) error{
		func(p *provider.Full, i provider.Instance) error {
			m := text("m")
			m.EngineLevel = 7
			_, err := p.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: m})
			return err
		},
		func(p *provider.Full, i provider.Instance) error {
			_, err := p.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerMove, Commit: unique(), CodeVersion: i.CodeVersion, EngineLevel: 7})
			return err
		},
		func(p *provider.Full, i provider.Instance) error {
			_, err := p.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerReset, Commit: unique(), Events: [][]byte{[]byte("e")}, EngineLevel: 7})
			return err
		},
		func(p *provider.Full, i provider.Instance) error {
			_, err := p.CommitTurn(t.ctx, provider.CommitTurnRequest{
				Key: i.Key, Execution: 1, Expected: i.Version, Commit: unique(), Status: provider.StatusRunning, EngineLevel: 7,
			})
			return err
		},
		func(p *provider.Full, i provider.Instance) error {
			_, err := p.CommitTurn(t.ctx, provider.CommitTurnRequest{
				Key: i.Key, Execution: 1, Expected: i.Version, Commit: unique(), Status: provider.StatusRunning, EngineLevel: 7,
				Next: &provider.NextExecution{CodeVersion: i.CodeVersion, Events: [][]byte{[]byte("e")}, EngineLevel: 7},
			})
			return err
		},
	}
	for n, act := range acts {
		for _, p := range t.others() {
			name := fmt.Sprint("new-", unique())
			i := t.create(name, func(r *provider.CreateRequest) { r.Name = name })
			t.ok(act(p, i))
			got := t.get(i.Key)
			t.checkf(got.Name == i.Name && got.CodeVersion == i.CodeVersion && got.EngineLevel == 7,
				"act %d: got name %q, version %q, level %d, want %q, %q, 7", n, got.Name, got.CodeVersion, got.EngineLevel, i.Name, i.CodeVersion)
			res, err := p.FetchTurns(t.ctx, provider.FetchTurnsRequest{
				Owner: node, Token: unique(), Lease: long, EngineLevel: 7, Max: 1,
				Capabilities: []provider.Capability{{Name: i.Name, CodeVersion: i.CodeVersion}},
			})
			t.ok(err)
			t.checkf(len(res.Turns) == 1 && res.Turns[0].Instance.Name == i.Name, "act %d: got %d turns, want that of %s", n, len(res.Turns), name)
		}
	}
}

// A handle that does not know a queue yet fetches its tasks and counts those that are leased. It names those that it fetches past
// their time, and those that it buries.
func handlesNewQueue(t *trial) {
	for _, p := range t.others() {
		req := func(name string, limit int) provider.FetchTasksRequest {
			r := fetchTasksRequest()
			r.Max, r.Queues = 1, []provider.QueueFilter{{Queue: name, Names: []string{activity}, MaxLeased: limit}}
			return r
		}
		fetch := func(p *provider.Full, r provider.FetchTasksRequest) []provider.LeasedTask {
			res, err := p.FetchTasks(t.ctx, r)
			t.ok(err)
			return res.Tasks
		}
		i, name := t.beginNew(2, 0)
		first := req(name, 0)
		t.mustf(len(fetch(t.Full, first)) == 1, "got no task of a new queue")
		t.checkf(len(fetch(p, req(name, 1))) == 0, "got a task beyond MaxLeased")
		got := fetch(p, req(name, 0))
		t.checkf(len(got) == 1 && got[0].Queue == name && got[0].Name == activity, "got %+v, want a task of queue %s", got, name)
		poison := provider.TaskReport{
			TaskRef: ref(i, 1), Token: provider.TaskToken(first.Token, ref(i, 1)), Attempt: 1, Outcome: provider.TaskPoison,
			Reason: "poison", Message: text("m"),
		}
		_, err := p.ReportTasks(t.ctx, provider.ReportTasksRequest{Items: []provider.TaskReport{poison}})
		t.ok(err)
		letters := t.lettersOf(i.Key)
		t.checkf(len(letters) == 1 && letters[0].Queue == name && letters[0].Name == activity, "got letters %+v, want one of queue %s", letters, name)
		_, name = t.beginNew(1, blink)
		late := req("another", 0)
		late.Expired, late.Wait = true, patience
		got = fetch(p, late)
		t.checkf(len(got) == 1 && got[0].Queue == name && got[0].Name == activity && got[0].PastDeadline,
			"got %+v, want the task past its deadline, of queue %s", got, name)
	}
}

// beginNew begins an instance with tasks in a new queue.
func (t *trial) beginNew(n int64, deadline time.Duration) (i provider.Instance, queue string) {
	queue = fmt.Sprint("new-", unique())
	i = t.begin(queue, func(r *provider.CommitTurnRequest) {
		for event := range n {
			task := newTask(event + 1)
			task.Queue, task.Deadline = queue, deadline
			r.Tasks = append(r.Tasks, task)
		}
	})
	return i, queue
}
