package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// rich is a commit with every kind of effect, so that a refused one would leave a trace.
func rich(i provider.Instance) provider.CommitTurnRequest {
	req := next(i, "event")
	req.Tasks = []provider.NewTask{newTask(100)}
	req.Timers = []provider.Timer{{EventID: 101, Due: i.CreatedAt.Add(long), Payload: []byte("timer")}}
	req.Sends = []provider.OutMessage{{Key: i.Key, Message: text("own")}}
	req.CustomStatus = []byte("custom")
	req.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}}
	req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: "t"}}
	return req
}

// everything is a turn with every effect that a first turn may have.
func everything(i provider.Instance, due provider.Time) func(*provider.CommitTurnRequest) {
	leased, _ := handedOff()
	timed := newTask(3)
	timed.NotBefore, timed.StartBy, timed.Deadline, timed.Priority = long, 2*long, 3*long, 1
	return func(r *provider.CommitTurnRequest) {
		r.Events = [][]byte{[]byte("started"), []byte("more")}
		r.Tasks = []provider.NewTask{leased, newTask(2), timed}
		r.Timers = []provider.Timer{{EventID: 4, Due: due, Payload: []byte("timer")}}
		r.Sends = []provider.OutMessage{{ID: "to", Message: text("from " + i.ID)}}
		r.Starts = []provider.Start{startOf(i, "child of "+i.ID)}
		r.CustomStatus = []byte("custom")
		r.Attributes = []provider.Attribute{{Name: "b", Kind: provider.AttributeText, Text: "t"}}
		r.Values = []provider.KeyValue{{Key: "k", Value: []byte("v")}, {Key: "none"}}
		r.EngineLevel = 3
		r.Owner, r.Sticky = node, long
	}
}

// fully prepares a start of "i" whose first turn has every effect and sends to "to".
func fully(changes ...func(*provider.CreateRequest)) provider.CreateRequest {
	req := firstRequest("i")
	everything(provider.Instance{ID: req.ID, Key: req.Key, Execution: 1}, 1)(req.First)
	for _, change := range changes {
		change(&req)
	}
	return req
}

// firstRequest prepares a start that carries a first turn, with changes to the turn. The orchestration is that of begin.
func firstRequest(id string, changes ...func(*provider.CommitTurnRequest)) provider.CreateRequest {
	req := createRequest(id)
	req.Name = "setup-" + id
	req.First = firstTurn(req, changes...)
	return req
}

func firstTurn(req provider.CreateRequest, changes ...func(*provider.CommitTurnRequest)) *provider.CommitTurnRequest {
	first := with(next(provider.Instance{Key: req.Key, Execution: 1, Version: req.Commit}, "started"), func(r *provider.CommitTurnRequest) {
		for _, change := range changes {
			change(r)
		}
	})
	return &first
}

// createFirst starts an instance with its first turn. It returns false if the provider ignores the turn.
func createFirst(t *trial, req provider.CreateRequest) (i provider.Instance, begun bool) {
	res, err := t.Create(t.ctx, req)
	t.ok(err)
	t.checkf(res.Created && res.Instance.Key == req.Key, "created %v, key %s, want true and %s", res.Created, res.Instance.Key, req.Key)
	return checkFirstStored(t, req, res), res.Begun
}

// checkFirstStored checks that the result of an inserting start matches what is stored: the whole turn or nothing of it.
func checkFirstStored(t *trial, req provider.CreateRequest, res provider.CreateResult) provider.Instance {
	i := t.get(req.Key)
	answered, stored := fmt.Sprintf("%+v", res.Instance), fmt.Sprintf("%+v", i)
	t.checkf(answered == stored, "the result has %s, but stored is %s", answered, stored)
	if res.Begun {
		t.checkf(i.Version == req.First.Commit && i.HistoryLength == int64(len(req.First.Events)), "Begun is true, but stored is %s", stored)
	} else {
		t.checkf(!provider.FeaturesOf(t.store).FirstTurns, "Begun is false, want true: the provider declares Features.FirstTurns")
		t.checkf(i.Version == req.Commit && i.HistoryLength == 0 && i.InboxMessages == 1, "Begun is false, but stored is %s", stored)
	}
	return i
}
