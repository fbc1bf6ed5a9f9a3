package validations

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// Names and durations that all cases use.
const (
	orchestration = "orc"
	codeVersion   = "v1"
	queue         = "q"
	activity      = "act"
	node          = "node-a"

	long     = time.Minute           // longer than any case
	patience = 20 * time.Second      // a Wait for something that must come; shorter than the limit, so that the case can report it
	short    = 30 * time.Millisecond // soon over
	blink    = time.Millisecond      // between the calls of a polling loop
)

func text(s string) provider.NewMessage { return provider.NewMessage{Kind: 7, Payload: []byte(s)} }

func createRequest(id string) provider.CreateRequest {
	return provider.CreateRequest{
		ID: id, Key: newKey(id), Commit: unique(), Name: orchestration, CodeVersion: codeVersion, Message: text("start"),
	}
}

// create makes an instance, with changes to the request.
func (t *trial) create(id string, changes ...func(*provider.CreateRequest)) provider.Instance {
	req := createRequest(id)
	for _, change := range changes {
		change(&req)
	}
	res, err := t.Create(t.ctx, req)
	t.ok(err)
	return res.Instance
}

// get returns the stored instance.
func (t *trial) get(key provider.UUID) provider.Instance {
	res, err := t.store.Get(t.ctx, provider.GetRequest{Key: key})
	t.mustf(err == nil, "Get returned error %v, want none", err)
	return res.Instance
}

// history returns each event of an execution (0: the current one) as a string.
func (t *trial) history(key provider.UUID, execution int64) []string {
	res, err := t.store.ReadHistory(t.ctx, provider.ReadHistoryRequest{Key: key, Execution: execution, From: 1})
	t.mustf(err == nil, "ReadHistory returned error %v, want none", err)
	list := make([]string, 0, len(res.Events))
	for _, e := range res.Events {
		list = append(list, fmt.Sprintf("%d:%s", e.ID, e.Data))
	}
	return list
}

func (t *trial) historyIs(key provider.UUID, execution int64, want string) {
	if got := strings.Join(t.history(key, execution), " "); got != want {
		t.errorf("the history of execution %d is %q, want %q", execution, got, want)
	}
}

func (t *trial) send(key provider.UUID, m provider.NewMessage) provider.SendResult {
	res, err := t.Send(t.ctx, provider.SendRequest{Key: key, Message: m})
	t.ok(err)
	return res
}

// A turn is a fetched turn with the token that leases it.
type turn struct {
	provider.Turn

	token provider.UUID
}

func (t turn) payloads() string { return payloads(t.Messages) }

func payloads(list []provider.Message) string {
	words := make([]string, 0, len(list))
	for _, m := range list {
		words = append(words, string(m.Payload))
	}
	return strings.Join(words, " ")
}

func fetchRequest() provider.FetchTurnsRequest {
	return provider.FetchTurnsRequest{
		Owner: node, Token: unique(), Lease: long, Max: 100,
		Capabilities: []provider.Capability{{Name: orchestration, CodeVersion: codeVersion}},
	}
}

// fetch fetches turns without waiting, with changes to the request.
func (t *trial) fetch(changes ...func(*provider.FetchTurnsRequest)) []turn {
	req := fetchRequest()
	for _, change := range changes {
		change(&req)
	}
	res, err := t.FetchTurns(t.ctx, req)
	t.ok(err)
	list := make([]turn, 0, len(res.Turns))
	for _, one := range res.Turns {
		list = append(list, turn{one, req.Token})
	}
	return list
}

// fetchOne fetches the only turn, and waits for it if necessary.
func (t *trial) fetchOne(changes ...func(*provider.FetchTurnsRequest)) turn {
	list := t.fetch(append([]func(*provider.FetchTurnsRequest){wait}, changes...)...)
	t.mustf(len(list) == 1, "got %d turns, want 1", len(list))
	return list[0]
}

func wait(r *provider.FetchTurnsRequest) { r.Wait = patience }

func briefly(r *provider.FetchTurnsRequest) { r.Lease = short }

// noTurn checks that no turn is fetchable now.
func (t *trial) noTurn(why string, changes ...func(*provider.FetchTurnsRequest)) {
	if list := t.fetch(changes...); len(list) != 0 {
		t.errorf("got %d turns, want none: %s", len(list), why)
	}
}

// commitOf prepares the commit of a turn that consumes all its messages.
func commitOf(u turn, events ...string) provider.CommitTurnRequest {
	req := provider.CommitTurnRequest{
		Key: u.Instance.Key, Execution: u.Instance.Execution, Expected: u.Instance.Version, Length: u.Instance.HistoryLength,
		Commit: unique(), Lease: u.token, Status: provider.StatusRunning,
	}
	for _, m := range u.Messages {
		req.Consumed = append(req.Consumed, m.ID)
	}
	for _, e := range events {
		req.Events = append(req.Events, []byte(e))
	}
	return req
}

func (t *trial) commit(req provider.CommitTurnRequest) provider.CommitTurnResult {
	res, err := t.CommitTurn(t.ctx, req)
	t.ok(err)
	return res
}

// begin creates an instance and commits its first turn, with changes, so that its inbox is empty. It returns the stored
// instance.
func (t *trial) begin(id string, changes ...func(*provider.CommitTurnRequest)) provider.Instance {
	i := t.create(id, func(r *provider.CreateRequest) { r.Name = "setup-" + id })
	req := commitOf(t.fetchOne(func(r *provider.FetchTurnsRequest) { r.Capabilities[0].Name = i.Name }), "started")
	for _, change := range changes {
		change(&req)
	}
	t.commit(req)
	return t.get(i.Key)
}

// end completes the instance.
func (t *trial) end(i provider.Instance) provider.Instance {
	req := next(i)
	req.Status, req.Result, req.CloseInbox = provider.StatusCompleted, []byte("result"), "test"
	t.commit(req)
	return t.get(i.Key)
}

// next prepares a commit on top of a stored instance without a lease or messages.
func next(i provider.Instance, events ...string) provider.CommitTurnRequest {
	return commitOf(turn{Turn: provider.Turn{Instance: i}}, events...)
}

// named limits a fetch to the instance that begin created under id.
func named(id string) func(*provider.FetchTurnsRequest) {
	return func(r *provider.FetchTurnsRequest) { r.Capabilities[0].Name = "setup-" + id }
}

func (t *trial) steer(key provider.UUID, action provider.SteerAction, changes ...func(*provider.SteerRequest)) provider.Instance {
	req := provider.SteerRequest{Key: key, Action: action, Commit: unique()}
	for _, change := range changes {
		change(&req)
	}
	res, err := t.Steer(t.ctx, req)
	t.ok(err)
	return res.Instance
}

// fresh returns an ID that no instance has.
func fresh() string { return unique().String() }

// with applies changes to a request.
func with[T any](r T, change func(*T)) T {
	change(&r)
	return r
}

// parkedFetch waits for a turn in the background.
func parkedFetch(t *trial, changes ...func(*provider.FetchTurnsRequest)) func() []turn {
	return parked(t, func() []turn {
		return t.fetch(append([]func(*provider.FetchTurnsRequest){wait}, changes...)...)
	})
}
