package sqlite

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/provider"
)

func newKey() provider.UUID {
	u, err := uuid.NewV7()
	if err != nil {
		panic(err)
	}
	return provider.UUID(u)
}

func newToken() provider.UUID { return provider.UUID(uuid.New()) }

// A chain is one instance that is driven by hand-off steps, as a dispatcher would.
type chain struct {
	p       *Provider
	key     provider.UUID
	version provider.UUID
	length  int64
	event   int64
	token   provider.UUID
}

var payload = []byte(`{"amount":1234,"currency":"EUR","order":"order-42"}`)

// startChain creates an instance, fetches it and commits its first turn.
func startChain(tb testing.TB, p *Provider, id string) *chain {
	tb.Helper()
	ctx := tb.Context()
	created, err := p.Create(ctx, provider.CreateRequest{
		ID: id, Key: newKey(), Commit: newToken(), Name: "chain-" + id, Message: provider.NewMessage{Payload: payload},
	})
	if err != nil {
		tb.Fatal(err)
	}
	lease := newToken()
	got, err := p.FetchTurns(ctx, fetchOf("chain-"+id, lease, time.Second))
	if err != nil || len(got.Turns) != 1 {
		tb.Fatalf("fetch: %v, %d turns", err, len(got.Turns))
	}
	c := &chain{p: p, key: created.Instance.Key, version: created.Instance.Version}
	if err := c.first(tb, lease, got.Turns[0].Messages[0].ID); err != nil {
		tb.Fatal(err)
	}
	return c
}

// startBegun creates an instance with its first turn.
func startBegun(tb testing.TB, p *Provider, id string) *chain {
	tb.Helper()
	c := &chain{p: p, key: newKey(), version: newToken()}
	created := c.version
	first := c.begin()
	res, err := p.Create(tb.Context(), provider.CreateRequest{
		ID: id, Key: c.key, Commit: created, Name: "begun", Message: provider.NewMessage{Payload: payload}, First: &first,
	})
	if err != nil || !res.Begun {
		tb.Fatalf("create: %v, begun: %v", err, res.Begun)
	}
	return c
}

func fetchOf(name string, token provider.UUID, wait time.Duration) provider.FetchTurnsRequest {
	return provider.FetchTurnsRequest{
		Owner: "node", Token: token, Lease: 30 * time.Second, Max: 100, Wait: wait,
		Capabilities: []provider.Capability{{Name: name}},
	}
}

func (c *chain) request() provider.CommitTurnRequest {
	return provider.CommitTurnRequest{
		Key: c.key, Execution: 1, Expected: c.version, Length: c.length, Commit: newToken(), Status: provider.StatusRunning,
	}
}

func (c *chain) next() provider.NewTask {
	return provider.NewTask{
		EventID: c.event, Queue: "default", Name: "charge", Payload: payload,
		Lease: &provider.TaskLease{Token: c.token, Owner: "node", Duration: 30 * time.Second},
	}
}

func (c *chain) first(tb testing.TB, lease provider.UUID, message int64) error {
	req := c.begin()
	req.Lease, req.Consumed = lease, []int64{message}
	_, err := c.p.CommitTurn(tb.Context(), req)
	return err
}

// begin makes the first turn.
func (c *chain) begin() provider.CommitTurnRequest {
	req := c.request()
	req.Events = [][]byte{payload, payload}
	c.event, c.token = 2, newToken()
	req.Tasks = []provider.NewTask{c.next()}
	c.version, c.length = req.Commit, 2
	return req
}

// step completes the task in hand and schedules the next one, in one commit.
func (c *chain) step(tb testing.TB) error {
	req := c.request()
	req.Completes = []provider.TaskCompletion{{EventID: c.event, Token: c.token}}
	req.Events = [][]byte{payload, payload}
	c.event, c.token = c.length+2, newToken()
	req.Tasks = []provider.NewTask{c.next()}
	_, err := c.p.CommitTurn(tb.Context(), req)
	c.version, c.length = req.Commit, c.length+2
	return err
}

func (c *chain) end(tb testing.TB) error {
	req := c.request()
	req.Completes = []provider.TaskCompletion{{EventID: c.event, Token: c.token}}
	req.Events, req.Status, req.Result = [][]byte{payload}, provider.StatusCompleted, payload
	_, err := c.p.CommitTurn(tb.Context(), req)
	c.version, c.length = req.Commit, c.length+1
	return err
}
