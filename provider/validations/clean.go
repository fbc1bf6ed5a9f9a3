package validations

import (
	"fmt"
	"sync"

	"github.com/perdure/perdure/provider"
)

func cleanCases() []testCase {
	const redrive = "DeadLetters lists items that could not be delivered or processed, puts them back where they came from (redrive) or discards them."
	return []testCase{
		{name: "delete-ended", run: deleteEnded, rule: "Delete removes an instance and its children, with everything stored under their keys."},
		{name: "delete-running", run: deleteRunning, rule: "Unless Force is set, it returns [ErrRunning] if the instance or one below it is running."},
		{name: "delete-unknown", run: deleteUnknown, rule: "It returns ErrNotFound for an unknown instance."},
		{name: "delete-cascades", run: deleteCascade, rule: "DeleteResult says how many instances were removed, children included."},
		{name: "delete-frees-the-id", run: deleteReuse, rule: "An instance has an ID chosen by a caller and a Key that is never reused."},
		{
			name: "no-child-of-a-deleted-parent", run: deleteOrphan,
			rule: "It first marks the instance and its children as deleting: that writes new Versions, and fetches, sends and creates under them are refused.",
		},
		{name: "delete-races-with-children", run: deleteRace, rule: "It then removes bottom-up until nothing with that parent link is left."},
		{name: "nothing-resurrects", run: deleteStays, rule: "Only Create, and the Starts of a commit, insert instances."},
		{name: "delete-replaced", run: deleteReplaced, rule: "The replaced instance stays readable by its key."},
		{name: "prune", run: pruneOld, rule: "Prune deletes up to Max instances that ended before a given age, oldest first, and returns how many."},
		{name: "prune-keeps-young", run: pruneYoung, rule: "PruneRequest deletes instances that ended at least Age ago, at most Max (0: 1,000)."},
		{name: "prune-cascades", run: pruneCascade, rule: "Children go with their parent, never alone before it."},
		{
			name: "prune-of-left-executions", run: pruneLeft,
			rule: "A child of an execution that its parent has left goes as if it had no parent.",
		},
		{name: "prune-chosen", run: pruneChosen, broad: true, rule: "Names and Statuses choose among those that may go; what goes with a parent need not match."},
		{name: "prune-except", run: pruneExcept, rule: "ExceptNames leaves out those that it names."},
		{name: "prune-spares", run: pruneSpared, rule: "An instance in Spare stays, and so does what it is below."},
		{name: "prune-cursor", run: pruneCursor, rule: "Its Cursor then continues after the last one."},
		{name: "prune-look", run: pruneLook, rule: "Trees has those that it would remove, Instances counts them, and Cursor continues behind them."},
		{name: "letters-pages", run: lettersPages, rule: redrive},
		{name: "letters-of-an-instance", run: lettersOfOne, rule: "DeadLettersRequest.Key: List: only those of this instance; zero: all"},
		{name: "letters-counted", run: lettersCounted, rule: "GetResult.DeadLetters: WithTasks: how many dead letters the instance has"},
		{name: "letters-redrive", run: lettersRedrive, rule: redrive},
		{name: "letters-redrive-task", run: lettersRedriveTask, rule: redrive},
		{name: "letters-discard", run: lettersDiscard, rule: redrive},
		{name: "letters-default-page", run: lettersDefault, rule: "DeadLettersRequest.Max: List: 1 to MaxPage; 0: MaxPage"},
		{
			name: "prune-default", run: pruneDefault, slow: true,
			rule: "PruneRequest deletes instances that ended at least Age ago, at most Max (0: 1,000).",
		},
		{name: "delete-by-key-or-id", run: deleteNamed, rule: "DeleteRequest names an instance by Key, or by ID when Key is zero."},
		{name: "delete-refuses-at-once", run: deleteRefuses, rule: "or is being deleted"},
		{name: "delete-keeps-the-id", run: deleteAndCreate, rule: "An instance that is being deleted counts as existing."},
		{name: "delete-resumes", run: deleteResumes, rule: "An interrupted Delete continues when it is repeated."},
	}
}

func deleteEnded(t *trial) {
	i := t.end(t.begin("i"))
	is(t, "instances removed", t.remove(i.Key, false), 1)
	t.gone(i.Key)
	_, err := t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
	t.want(err, provider.ErrNotFound)
}

func deleteRunning(t *trial) {
	i := t.beginTasks(newTask(1))
	t.send(i.Key, text("m"))
	t.unchanged(i.Key, func() {
		_, err := t.Delete(t.ctx, provider.DeleteRequest{ID: "i"})
		t.want(err, provider.ErrRunning)
	})
	is(t, "instances removed", t.remove(i.Key, true), 1)
	t.gone(i.Key)
	t.noTurn("the instance was deleted", named("i"))
	is(t, "tasks of a deleted instance", len(t.fetchTasks()), 0)
}

func deleteUnknown(t *trial) {
	_, err := t.Delete(t.ctx, provider.DeleteRequest{ID: "nobody"})
	t.want(err, provider.ErrNotFound)
}

func deleteCascade(t *trial) {
	i := beginFamily(t, func(*provider.Start) {}, func(s *provider.Start) { s.Create.Parent.Close = provider.CloseAbandon })
	a, b := t.byID("a"), t.byID("b")
	below := t.create("below", func(r *provider.CreateRequest) {
		r.Parent = provider.Parent{Key: a.Key, ID: "a", Execution: 1, EventID: 1}
	})
	other := t.create("other")
	is(t, "instances removed", t.remove(i.Key, true), 4)
	for _, gone := range []provider.Instance{i, a, b, below} {
		t.gone(gone.Key)
	}
	t.get(other.Key)
}

func deleteReuse(t *trial) {
	old := t.beginTasks(newTask(1))
	task := t.fetchTask()
	t.remove(old.Key, true)
	i := t.create("i")
	is(t, "the key under the ID", t.byID("i").Key, i.Key)
	t.unchanged(i.Key, func() {
		res := t.report(task, provider.TaskComplete)
		t.checkf(res.State.Kind == provider.ExecutionMissing, "got %+v, want state Missing", res)
	})
}

func deleteOrphan(t *trial) {
	i := t.begin("i")
	t.remove(i.Key, true)
	req := createRequest("child")
	req.Parent = provider.Parent{Key: i.Key, ID: "i", Execution: 1, EventID: 1}
	_, err := t.Create(t.ctx, req)
	t.checkf(err != nil && provider.OutcomeOf(err) == provider.OutcomeNothing,
		"a start under a deleted parent returned %v, want an error with outcome nothing", err)
	_, err = t.Get(t.ctx, provider.GetRequest{ID: "child"})
	t.want(err, provider.ErrNotFound)
}

// The members of a tree start children while it is deleted. No child outlives the tree.
func deleteRace(t *trial) {
	root := beginFamily(t, func(*provider.Start) {}, func(*provider.Start) {})
	members := []provider.Instance{t.byID("a"), t.byID("b")}
	var mu sync.Mutex
	var born []provider.UUID
	enough, removing := make(chan struct{}), make(chan struct{})
	t.parallel(3, func(n int) {
		if n == 2 {
			<-enough
			close(removing)
			t.remove(root.Key, true)
			return
		}
		parent := members[n]
		for k := range 500 { // until the delete refuses one
			if k == 20 && !t.inTurn {
				<-removing
			}
			start := startOf(parent, fmt.Sprint("below ", n, " ", k))
			req := next(parent)
			req.Starts = []provider.Start{start}
			if _, err := t.CommitTurn(t.ctx, req); err != nil {
				t.want(err, provider.ErrConflict)
				return
			}
			parent.Version = req.Commit
			mu.Lock()
			if born = append(born, start.Create.Key); len(born) == 20 {
				close(enough)
			}
			mu.Unlock()
		}
	})
	t.gone(root.Key)
	for _, key := range born {
		t.gone(key)
	}
	n, err := t.Count(t.ctx, provider.CountRequest{})
	t.ok(err)
	t.checkf(n.Count == 0, "%d instances of the tree remain, want 0", n.Count)
}

// No call by a holder of an old key, token or version brings a deleted instance back.
func deleteStays(t *trial) {
	i := t.beginTasks(newTask(1))
	t.send(i.Key, text("m"))
	u, task := t.fetchOne(named("i")), t.fetchTask()
	t.remove(i.Key, true)
	for _, req := range []provider.CommitTurnRequest{commitOf(u, "event"), rich(i)} {
		_, err := t.CommitTurn(t.ctx, req)
		t.want(err, provider.ErrConflict)
	}
	_, err := t.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerSuspend, Commit: unique()})
	t.want(err, provider.ErrNotFound)
	_, err = t.Send(t.ctx, provider.SendRequest{Key: i.Key, Message: text("m")})
	t.want(err, provider.ErrNotFound)
	t.want(t.release(u), provider.ErrLeaseLost)
	is(t, "the state of a deleted execution", t.renew(renewal(task)).State.Kind, provider.ExecutionMissing)
	t.report(task, provider.TaskComplete)
	t.gone(i.Key)
	n, err := t.Count(t.ctx, provider.CountRequest{})
	t.ok(err)
	t.checkf(n.Count == 0, "%d instances exist, want 0", n.Count)
}

func deleteReplaced(t *trial) {
	old := t.end(t.begin("i"))
	i := t.create("i", replace)
	is(t, "instances removed", t.remove(old.Key, false), 1)
	t.gone(old.Key)
	is(t, "the key under the ID", t.byID("i").Key, i.Key)
}

func pruneOld(t *trial) {
	made := make([]provider.Instance, 3)
	for n := range made {
		made[n] = t.begin(fmt.Sprint("i", n))
	}
	running := t.begin("running")
	for _, n := range []int{1, 0, 2} {
		t.end(made[n])
		t.pass(short) // the next one ends later even by a clock of milliseconds
	}
	is(t, "instances pruned with Max 1", prune(t, provider.PruneRequest{Max: 1}), 1)
	t.gone(made[1].Key)
	t.get(made[0].Key)
	is(t, "instances pruned without Max", prune(t, provider.PruneRequest{}), 2)
	t.get(running.Key)
}

func pruneYoung(t *trial) {
	i := t.end(t.begin("i"))
	is(t, "young instances pruned", prune(t, provider.PruneRequest{Age: long}), 0)
	t.get(i.Key)
}

func pruneCascade(t *trial) {
	i := beginFamily(t, func(*provider.Start) {})
	child := t.byID("a")
	t.steer(child.Key, provider.SteerTerminate)
	is(t, "children pruned before their parent", prune(t, provider.PruneRequest{}), 0)
	t.get(child.Key)
	t.steer(i.Key, provider.SteerTerminate)
	prune(t, provider.PruneRequest{})
	t.gone(i.Key)
	t.gone(child.Key)
}

// leaveDeadLetters makes n dead letters of messages to i by terminating it, and resets it.
func leaveDeadLetters(t *trial, n int) provider.Instance {
	i := t.begin("i")
	for k := range n {
		t.send(i.Key, text(fmt.Sprint("m", k)))
	}
	t.steer(i.Key, provider.SteerTerminate)
	return t.steer(i.Key, provider.SteerReset, resetTo("again"))
}

func lettersPages(t *trial) {
	leaveDeadLetters(t, 5)
	var cursor int64
	for want := range 5 {
		res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Cursor: cursor, Max: 1})
		t.ok(err)
		t.mustf(len(res.Letters) == 1 && res.Letters[0].ID > cursor, "page %d is %+v, want one letter with a higher ID", want, res.Letters)
		cursor = res.Letters[0].ID
		is(t, fmt.Sprintf("the payload of letter %d", want), string(res.Letters[0].Payload), fmt.Sprint("m", want))
	}
	res, err := t.DeadLetters(t.ctx, provider.DeadLettersRequest{Cursor: cursor})
	t.ok(err)
	t.checkf(len(res.Letters) == 0, "got %+v after the last letter, want none", res.Letters)
}

func lettersOfOne(t *trial) {
	first := leaveDeadLetters(t, 3)
	other := t.begin("other")
	t.send(other.Key, text("other"))
	t.steer(other.Key, provider.SteerTerminate)
	list := func(req provider.DeadLettersRequest) (payloads string) {
		res, err := t.DeadLetters(t.ctx, req)
		t.ok(err)
		for _, l := range res.Letters {
			payloads += string(l.Payload) + " "
		}
		return payloads
	}
	all := t.letters()
	t.mustf(len(all) == 4, "%d dead letters, want 4", len(all))
	for want, req := range map[string]provider.DeadLettersRequest{
		"m0 m1 m2 ": {Key: first.Key},
		"m1 ":       {Key: first.Key, Cursor: all[0].ID, Max: 1},
		"other ":    {Key: other.Key, Cursor: all[0].ID},
		"":          {Key: t.begin("third").Key},
	} {
		got := list(req)
		t.checkf(got == want, "%+v returned %q, want %q", req, got, want)
	}
}

func lettersCounted(t *trial) {
	first, other := leaveDeadLetters(t, 3), t.begin("other")
	count := func(key provider.UUID) int64 {
		res, err := t.Get(t.ctx, provider.GetRequest{Key: key, WithTasks: true})
		t.ok(err)
		return res.DeadLetters
	}
	got := []int64{count(first.Key), count(other.Key)}
	t.checkf(got[0] == 3 && got[1] == 0, "%d dead letters, want 3 and 0", got)
	actOnLetters(t, provider.DeadLettersDiscard, t.letters()[0].ID)
	left := count(first.Key)
	t.checkf(left == 2, "%d dead letters after discarding one, want 2", left)
}

func lettersRedrive(t *trial) {
	leaveDeadLetters(t, 2)
	list := t.letters()
	t.mustf(len(list) == 2, "%d dead letters, want 2", len(list))
	is(t, "letters redriven", actOnLetters(t, provider.DeadLettersRedrive, list[1].ID), 1)
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m1" && u.Messages[0].Kind == 7, "redriven to %+v, want message m1 of kind 7", u.Messages)
	left := t.letters()
	t.checkf(len(left) == 1 && left[0].ID == list[0].ID, "the remaining letters are %+v, want the first one", left)
	is(t, "letters redriven again", actOnLetters(t, provider.DeadLettersRedrive, list[1].ID), 0)
}

func lettersRedriveTask(t *trial) {
	i := t.beginTasks(newTask(1))
	t.ok(t.report(t.fetchTask(), provider.TaskPoison).Err)
	list := t.letters()
	t.mustf(len(list) == 1, "%d dead letters, want 1", len(list))
	is(t, "letters redriven", actOnLetters(t, provider.DeadLettersRedrive, list[0].ID), 1)
	task := t.fetchTask()
	t.checkf(task.TaskRef == ref(i, 1) && string(task.Payload) == "task1" && task.Deliveries == 1,
		"redriven to %+v, want task 1 with its payload, on its first delivery", task)
}

func lettersDiscard(t *trial) {
	i := leaveDeadLetters(t, 2)
	list := t.letters()
	t.mustf(len(list) == 2, "%d dead letters, want 2", len(list))
	is(t, "letters discarded", actOnLetters(t, provider.DeadLettersDiscard, list[0].ID, list[1].ID, list[1].ID+1000), 2)
	t.checkf(len(t.letters()) == 0 && t.get(i.Key).InboxMessages == 0, "discarded letters are still stored, or went back to the inbox")
}
