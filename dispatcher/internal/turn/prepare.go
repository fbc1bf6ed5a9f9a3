package turn

import (
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// prepared is a decision that is ready to be stored, and what the node holds for it until it is.
type prepared struct {
	engine.Decision

	handOffs      []*task.Attempt          // tasks that the commit leases to this node, each with a slot; see rollBack
	handedLocals  []*local.Attempt         // the same for local activities, which are running
	mayTake       int                      // how many hand-offs there may be
	runningLocals map[int64]*local.Attempt // of local activities that run and have no task yet, by number of their call
	claim         *fast.Claim              // claim that the commit ends
	deadLetters   []string                 // names of the events that the commit moves to the dead letters
}

// preparer prepares decisions.
type preparer struct {
	*core.Node

	actors    *actors
	turnSlots *flow.Slots
	attempts  attempts
	locals    *local.Worker
	anchorer  anchorer
}

// prepare decides what a turn stores, and takes leases and slots for what of it this node does itself; rollBack releases them. The caller
// defers rollBack first.
func (pr *preparer) prepare(t *prepared, a *actor, r *run, x *replay.Execution) {
	policy := engine.Policy{Level: pr.Config.Level.Allowed(), Settings: pr.Config.Settings(), Faces: pr.Config.Faces}
	if a.outcomesOf == x {
		policy.Outcomes = a.outcomes
	}
	engine.Decide(&t.Decision, x, policy)
	t.Request.Expected, t.Request.Commit = a.version, storage.NewToken()
	for i := range t.Request.Starts {
		t.Request.Starts[i].Create.Commit = storage.NewToken()
	}
	for _, call := range t.Calls {
		pr.lease(t, x.View(), call)
	}
	if t.Turn.End != nil && t.Turn.End.Next != nil {
		before, _ := x.View().Trace()
		pr.anchorer.next(r, x.View().Info(), before, t.Start(x, policy))
		t.Next()
		t.renewLimit(a.limit, x.View().Info().Execution+1, pr.Clock.Now())
	}
	pr.pin(t, a, x.View())
}

// handOff reports whether the turn's own commit leases a task to this node, and takes the slot. One commit takes at most half of the free
// slots, or the only one.
func (pr *preparer) handOff(t *prepared, call *history.ActivityScheduled) bool {
	if !pr.attempts.MayHandOff(call) {
		return false
	}
	if t.mayTake == 0 {
		t.mayTake = max(1, pr.Tasks.Free()/2)
	}
	return len(t.handOffs)+len(t.handedLocals) < t.mayTake && pr.Tasks.TryTake()
}

// lease leases the task of a call to this node if possible.
func (pr *preparer) lease(t *prepared, x replay.View, c engine.Call) {
	local := t.runningLocals[c.Call.Local]
	if c.Task < 0 {
		if local != nil {
			pr.locals.DetachUnstored(local, t.Turn.End != nil)
		}
		return
	}
	stored := &t.Request.Tasks[c.Task]
	if local != nil {
		delete(t.runningLocals, c.Call.Local)
		if pr.Tasks.TryTake() {
			local.Ref.EventID, local.Token, local.Lease = stored.EventID, storage.NewToken(), manage.NewLease(pr.Config.Lease)
			stored.Lease = &provider.TaskLease{Token: local.Token, Owner: pr.Config.Owner, Duration: pr.Config.Lease}
			t.handedLocals = append(t.handedLocals, local)
			return
		}
		pr.locals.Detach(local, activity.ErrLeaseLost) // the queue starts it again
	}
	if c.Call.Delay > 0 {
		return
	}
	if !pr.handOff(t, c.Call) {
		pr.attempts.Queues(c.Call)
		return
	}
	info := x.Info()
	a := task.HandedOff(task.Ref(info.Key, info.Execution, stored.EventID), info.ID, c.Call, pr.Clock.Now(), pr.Config.Lease)
	if a.Caller = c.Caller; a.Caller == nil {
		a.Caller = x.EncodedCaller()
	}
	if pr.Watch.On() {
		a.Of = x.Caller()
	}
	stored.Lease = &provider.TaskLease{Token: a.Token, Owner: pr.Config.Owner, Duration: pr.Config.Lease}
	t.handOffs = append(t.handOffs, a)
}
