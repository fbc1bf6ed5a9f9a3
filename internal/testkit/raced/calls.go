package raced

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// A Call is one call on the instance of a scene, or on one that it meets. It is always the same request.
type Call struct {
	Name string
	// After names the call that this one goes on from; "": none.
	After string
	// Fetches says that the call takes what is free, so that it may find nothing while another one has it.
	Fetches bool
	// Do makes the call and returns what its caller hears.
	Do func(ctx context.Context, p *provider.Full, s Scene) string
}

// Calls lists all calls.
func Calls() (list []Call) {
	for _, some := range [][]Call{commits(), messages(), starts(), steering(), leases(), tasks(), fetches()} {
		list = append(list, some...)
	}
	return list
}

// Named returns a call by its name.
func Named(name string) (Call, bool) {
	for _, c := range Calls() {
		if c.Name == name {
			return c, true
		}
	}
	return Call{}, false
}

// commitOf returns a call that commits a turn.
func commitOf(name string, change func(s Scene, req *provider.CommitTurnRequest)) Call {
	return Call{Name: name, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
		req := s.commit(name)
		change(s, &req)
		res, err := p.CommitTurn(ctx, req)
		return said(err, res.ReadyAt != 0)
	}}
}

// after returns a call that commits a turn on top of what another call does.
func after(other, name string, change func(s Scene, req *provider.CommitTurnRequest)) Call {
	c := commitOf(name, change)
	c.After = other
	return c
}

func commits() []Call {
	consume := func(s Scene, req *provider.CommitTurnRequest) {
		req.Consumed, req.Lease = []int64{waiting}, s.uuid("fetch 2")
	}
	complete := func(s Scene, req *provider.CommitTurnRequest) {
		req.Completes = []provider.TaskCompletion{{EventID: handedOff, Token: s.uuid("task")}}
	}
	return []Call{
		commitOf("step", complete),
		commitOf("hand-off", func(s Scene, req *provider.CommitTurnRequest) {
			complete(s, req)
			lease := &provider.TaskLease{Token: s.uuid("next task"), Owner: "node", Duration: hour}
			req.Tasks = []provider.NewTask{{EventID: 9, Queue: "raced", Name: "act", Lease: lease}}
			req.Owner, req.Sticky = "node", 2*hour
		}),
		commitOf("turn", consume),
		commitOf("end", func(s Scene, req *provider.CommitTurnRequest) {
			consume(s, req)
			req.Status, req.Result = provider.StatusCompleted, []byte("done")
		}),
		commitOf("closing", func(s Scene, req *provider.CommitTurnRequest) {
			complete(s, req)
			req.Status, req.CloseInbox = provider.StatusFailed, "left"
		}),
		commitOf("next execution", func(s Scene, req *provider.CommitTurnRequest) {
			consume(s, req)
			m := message("again")
			req.Next = &provider.NextExecution{CodeVersion: s.id("next"), EngineLevel: 2, Events: [][]byte{[]byte("n")}, Message: &m}
		}),
		commitOf("lane", func(_ Scene, req *provider.CommitTurnRequest) {
			req.Tasks = []provider.NewTask{
				{EventID: 9, Queue: "raced", Name: "act", FairnessKey: "lane"},
				{EventID: 10, Queue: "raced", Name: "act", FairnessKey: "lane", Priority: 1},
			}
		}),
		commitOf("cancellation", func(_ Scene, req *provider.CommitTurnRequest) {
			req.CancelTasks = []provider.CancelTask{{EventID: handedOff}, {EventID: queued, Remove: true}, {EventID: inSession, Remove: true}}
			req.CancelTimers = []int64{timerEvent}
		}),
		commitOf("timers", func(s Scene, req *provider.CommitTurnRequest) {
			consume(s, req)
			req.CancelTimers = []int64{timerEvent}
			req.Timers = []provider.Timer{{EventID: 9, Kind: 9, Due: due}}
		}),
		// These go on from another call, whose caller has not heard of it: they see what it has stored.
		after("message", "turn of two messages", func(s Scene, req *provider.CommitTurnRequest) {
			consume(s, req)
			req.Consumed = append(req.Consumed, waiting+1)
		}),
		after("hand-off", "second hand-off", func(s Scene, req *provider.CommitTurnRequest) {
			req.Expected, req.Length = s.uuid("commit hand-off"), length+1
			req.Completes = []provider.TaskCompletion{{EventID: 9, Token: s.uuid("next task")}}
		}),
		after("timers", "cancellation of new timers", func(s Scene, req *provider.CommitTurnRequest) {
			req.Expected, req.Length, req.CancelTimers = s.uuid("commit timers"), length+1, []int64{9}
		}),
		after("lane", "cancellation of a new task", func(s Scene, req *provider.CommitTurnRequest) {
			req.Expected, req.Length = s.uuid("commit lane"), length+1
			req.CancelTasks = []provider.CancelTask{{EventID: 9}, {EventID: 10, Remove: true}}
		}),
		commitOf("reach", func(s Scene, req *provider.CommitTurnRequest) {
			accepted := message("accepted")
			req.Sends = []provider.OutMessage{
				{ID: s.id("child"), Message: message("hello"), Replies: &provider.Replies{
					Accepted: message("got"), Gone: message("gone"), Ended: message("ended"), Full: message("full"),
				}},
				{Key: s.Key(), Message: message("to itself")},
			}
			req.Starts = []provider.Start{{Create: s.create("other", "other"), Refused: message("refused"), Accepted: &accepted}}
		}),
		commitOf("description", func(s Scene, req *provider.CommitTurnRequest) {
			req.CustomStatus, req.EngineLevel, req.EndSessions = []byte("status"), 3, []string{s.id("session")}
			req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}}
			req.Values = []provider.KeyValue{{Key: "v"}, {Key: "w", Value: []byte("2")}}
		}),
	}
}

func sendOf(name string, request func(s Scene) provider.SendRequest) Call {
	return Call{Name: name, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
		res, err := p.Send(ctx, request(s))
		return said(err, res.MessageID)
	}}
}

func messages() []Call {
	return []Call{
		sendOf("message", func(s Scene) provider.SendRequest { return provider.SendRequest{Key: s.Key(), Message: message("m")} }),
		sendOf("later message", func(s Scene) provider.SendRequest {
			m := message("later")
			m.Delay = hour
			return provider.SendRequest{Key: s.Key(), Message: m}
		}),
		sendOf("message of a level", func(s Scene) provider.SendRequest {
			m := message("new")
			m.EngineLevel = 5
			return provider.SendRequest{ID: s.id("x"), Message: m}
		}),
	}
}

func startOf(name string, request func(s Scene) provider.CreateRequest) Call {
	return Call{Name: name, Do: func(ctx context.Context, p *provider.Full, s Scene) string {
		res, err := p.Create(ctx, request(s))
		return said(err, res.Created, res.Begun, row(&res.Instance))
	}}
}

func starts() []Call {
	return []Call{
		startOf("start of the same", func(s Scene) provider.CreateRequest { return s.create("x", "x") }),
		startOf("start of another", func(s Scene) provider.CreateRequest { return s.create("x", "third") }),
		startOf("joining start", func(s Scene) provider.CreateRequest {
			req := s.create("x", "third")
			req.Policy, req.Messages = provider.IDUseExisting, []provider.NewMessage{message("joins"), message("joins, too")}
			return req
		}),
		startOf("replacing start", func(s Scene) provider.CreateRequest {
			req := s.create("x", "third")
			req.Policy = provider.IDReplaceEnded
			return req
		}),
		startOf("new start", func(s Scene) provider.CreateRequest {
			req := s.create("other", "other")
			req.First = &provider.CommitTurnRequest{
				Key: req.Key, Execution: 1, Expected: req.Commit, Commit: s.uuid("first of other"), Status: provider.StatusRunning, Events: [][]byte{[]byte("e")},
				Tasks: []provider.NewTask{{EventID: 1, Queue: "raced", Name: "act", Lease: &provider.TaskLease{Token: s.uuid("next task"), Owner: "node", Duration: hour}}},
			}
			return req
		}),
		startOf("rival start", func(s Scene) provider.CreateRequest { return s.create("other", "third") }),
		startOf("start of a child", func(s Scene) provider.CreateRequest {
			req := s.create("other", "other")
			req.Parent = provider.Parent{Key: s.Key(), ID: s.id("x"), Execution: 1, EventID: 8}
			req.Listener = &provider.Listener{Key: s.Key(), Message: message("is over")}
			req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeText, Text: "t"}}
			return req
		}),
	}
}
