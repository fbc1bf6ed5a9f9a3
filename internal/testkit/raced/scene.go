// Package raced has calls of a store that meet on one instance, and the scene on which they do. Tests play one call between the steps of
// another one, and compare with the two orders in which the calls may come. It is for tests only.
package raced

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// State is the state of the instance when the calls begin.
type State int

// The states.
const (
	Ready     State = iota // a message waits, and nobody has the instance
	Leased                 // it is leased for a turn
	Blocked                // its last turn has failed
	Suspended              // nothing of it can be fetched
	Ended                  // it was terminated
	states
)

// String returns the name of the state.
func (s State) String() string {
	return [...]string{"ready", "leased", "blocked", "suspended", "ended"}[s]
}

// States lists all states.
func States() (list []State) {
	for s := range states {
		list = append(list, s)
	}
	return list
}

// A Scene is an instance with all that calls on it touch. Two scenes with one number are equal, in any process, so a call knows all
// names of its scene without a read.
type Scene int

// The numbers of what the instance has.
const (
	length  = 8 // of its history
	waiting = 3 // the message that waits

	handedOff  = 2 // the events of its tasks: one that the committer has
	queued     = 3
	ranked     = 4
	inSession  = 5
	timerEvent = 6
)

// How long leases and delays are. Each is a whole number of minutes and much longer than a test.
const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// due is when timers are: in the year 2096.
const due provider.Time = 4_000_000_000_000_000

// mark surrounds the number of a scene in its names, so that the number can be left out of what is compared.
const mark = "~"

func (s Scene) id(name string) string { return fmt.Sprint(name, mark, int(s), mark) }

// uuid returns a key, version or token by its name.
func (s Scene) uuid(name string) provider.UUID {
	sum := sha256.Sum256([]byte(s.id(name)))
	return provider.UUID(sum[:16])
}

// Key is the key of the instance.
func (s Scene) Key() provider.UUID { return s.uuid("x") }

// ID is the ID of the instance.
func (s Scene) ID() string { return s.id("x") }

// Keys are the keys of all instances of the scene.
func (s Scene) Keys() []provider.UUID {
	return []provider.UUID{s.Key(), s.uuid("child"), s.uuid("other"), s.uuid("third")}
}

// Waiting is a fetch of the instance that waits for so long.
func (s Scene) Waiting(wait time.Duration) provider.FetchTurnsRequest {
	req := s.turns("waiting fetch")
	req.Wait = wait
	return req
}

func (s Scene) task(event int64) provider.TaskRef {
	return provider.TaskRef{Key: s.Key(), Execution: 1, EventID: event}
}

func message(text string) provider.NewMessage {
	return provider.NewMessage{Kind: 7, Payload: []byte(text)}
}

func (s Scene) create(id, key string) provider.CreateRequest {
	return provider.CreateRequest{
		ID: s.id(id), Key: s.uuid(key), Commit: s.uuid("made " + key), Name: "raced", CodeVersion: "1", RequestID: "request of " + key, Message: message("start"),
	}
}

func (s Scene) turns(token string) provider.FetchTurnsRequest {
	return provider.FetchTurnsRequest{
		Owner: "node", Token: s.uuid(token), Lease: hour, EngineLevel: 9, Max: 10,
		Capabilities: []provider.Capability{
			{Name: "raced", CodeVersion: "1"}, {Name: "raced", CodeVersion: s.id("moved")}, {Name: "raced", CodeVersion: s.id("next")},
		},
	}
}

func (s Scene) tasks(token, owner string, names ...string) provider.FetchTasksRequest {
	return provider.FetchTasksRequest{
		Owner: owner, Token: s.uuid(token), Lease: hour, Max: 10, Queues: []provider.QueueFilter{{Queue: "raced", Names: names}},
	}
}

// commit is a turn on top of the first one.
func (s Scene) commit(name string) provider.CommitTurnRequest {
	return provider.CommitTurnRequest{
		Key: s.Key(), Execution: 1, Expected: s.uuid("first"), Length: length, Commit: s.uuid("commit " + name), Status: provider.StatusRunning,
		Events: [][]byte{[]byte(name)},
	}
}

// firstTurn leaves the instance with a task of each kind and a timer, kept for one node.
func (s Scene) firstTurn() provider.CommitTurnRequest {
	req := s.commit("first")
	req.Expected, req.Commit, req.Length, req.Events = s.uuid("made x"), s.uuid("first"), 0, nil
	for n := range length {
		req.Events = append(req.Events, fmt.Append(nil, "event ", n))
	}
	req.Lease, req.Consumed = s.uuid("fetch 1"), []int64{1}
	req.Tasks = []provider.NewTask{
		{EventID: handedOff, Queue: "raced", Name: "act", Payload: []byte("a"), Lease: &provider.TaskLease{Token: s.uuid("task"), Owner: "node", Duration: hour}},
		{EventID: queued, Queue: "raced", Name: "act", Payload: []byte("b"), Deadline: 2 * day, StartBy: day},
		{EventID: ranked, Queue: "raced", Name: "act", Payload: []byte("c"), FairnessKey: "lane"},
		{EventID: inSession, Queue: "raced", Name: "session", Payload: []byte("d"), Session: s.id("session")},
	}
	req.Timers = []provider.Timer{{EventID: timerEvent, Kind: 9, Due: due, Payload: []byte("t")}}
	req.Values = []provider.KeyValue{{Key: "v", Value: []byte("1")}}
	req.Owner, req.Sticky = "node", hour
	return req
}

// Build makes the instance, with a child, through one handle of a store that has no other instances. The handle then knows as much of
// it as a process that has worked on it. Build returns the time at which it began.
func (s Scene) Build(ctx context.Context, p *provider.Full, state State) (provider.Time, error) {
	made, err := p.Create(ctx, s.create("x", "x"))
	if err != nil {
		return 0, err
	}
	if err := took(p.FetchTurns(ctx, s.turns("fetch 1"))); err != nil {
		return 0, err
	}
	if _, err := p.CommitTurn(ctx, s.firstTurn()); err != nil {
		return 0, err
	}
	inSessions := s.tasks("sessions", "node", "session")
	inSessions.Sessions = provider.SessionClaim{Max: 2, Lease: hour, Idle: hour}
	res, err := p.FetchTasks(ctx, inSessions)
	if err == nil && len(res.Tasks) != 1 {
		err = fmt.Errorf("%d tasks were fetched, want 1", len(res.Tasks))
	}
	child := s.create("child", "child")
	child.Name, child.Parent = "child", provider.Parent{Key: s.Key(), ID: s.id("x"), Execution: 1, EventID: 7}
	if err == nil {
		_, err = p.Create(ctx, child)
	}
	if err == nil {
		_, err = p.Send(ctx, provider.SendRequest{Key: s.Key(), Message: message("waits")})
	}
	if err == nil {
		err = s.enter(ctx, p, state)
	}
	return made.Now, err
}

// enter brings the instance into a state.
func (s Scene) enter(ctx context.Context, p *provider.Full, state State) error {
	steer := func(action provider.SteerAction) error {
		_, err := p.Steer(ctx, provider.SteerRequest{Key: s.Key(), Action: action, Commit: s.uuid("entered")})
		return err
	}
	switch state {
	case Leased, Blocked:
		if err := took(p.FetchTurns(ctx, s.turns("fetch 2"))); err != nil || state == Leased {
			return err
		}
		res, err := p.ReleaseTurns(ctx, s.failed())
		return errors.Join(append(res.Errs, err)...)
	case Suspended:
		return steer(provider.SteerSuspend)
	case Ended:
		return steer(provider.SteerTerminate)
	default:
		return nil
	}
}

func took(res provider.FetchTurnsResult, err error) error {
	if err == nil && len(res.Turns) != 1 {
		err = fmt.Errorf("%d turns were fetched, want 1", len(res.Turns))
	}
	return err
}

// failed ends the lease of the second fetch after a turn that failed.
func (s Scene) failed() provider.ReleaseTurnsRequest {
	return provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
		Kind: provider.ReleaseFailed, Key: s.Key(), Token: s.uuid("fetch 2"), Delay: hour, Failure: &provider.TurnFailure{Reason: "panic", Message: "by the test"},
	}}}
}
