package postgres

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// firstTurn is the first turn of an instance, with a task that is handed off.
func firstTurn(req *provider.CreateRequest) *provider.CommitTurnRequest {
	return &provider.CommitTurnRequest{
		Key: req.Key, Execution: 1, Expected: req.Commit, Commit: unique(), Status: provider.StatusRunning,
		Events: [][]byte{[]byte("started"), []byte("scheduled")}, Owner: "node", Sticky: time.Hour,
		Tasks: []provider.NewTask{{EventID: 2, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: unique(), Owner: "node", Duration: lease}}},
	}
}

// begun creates an instance with its first turn, and returns the next turn.
func begun(t *testing.T, p *Provider, id string) provider.CommitTurnRequest {
	t.Helper()
	req := createRequest(id)
	req.First = firstTurn(&req)
	res, err := p.Create(t.Context(), req)
	if err != nil || !res.Begun {
		t.Fatalf("begun: %v, %v", res.Begun, err)
	}
	next := turn(&res.Instance)
	next.Completes = []provider.TaskCompletion{{EventID: 2, Token: req.First.Tasks[0].Lease.Token}}
	next.Events = [][]byte{[]byte("completed")}
	return next
}

// A create with a first turn returns what is stored, whatever that turn does, alone and in a group.
func TestFirstTurnIsStoredWithItsInstance(t *testing.T) {
	p, _ := counting(t)
	observer := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	parent := create(t, p, "parent")
	plain := func() provider.CreateRequest {
		req := createRequest(unique().String())
		req.First = firstTurn(&req)
		return req
	}
	child := plain()
	child.Parent = provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: 7, Close: provider.CloseAbandon}
	rich := plain()
	rich.EngineLevel, rich.RequestID = 2, "once"
	rich.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}, {Name: "b", Kind: provider.AttributeInt, Number: 2}}
	rich.First.EngineLevel, rich.First.CustomStatus = 3, []byte("half way")
	rich.First.Attributes = []provider.Attribute{{Name: "b", Kind: provider.AttributeInt, Number: 3}}
	rich.First.Timers = []provider.Timer{{EventID: 3, Kind: 4, Payload: []byte("timer"), Due: provider.TimeOf(time.Now().Add(time.Hour))}}
	stores := func(req provider.CreateRequest) {
		got, err := p.Create(t.Context(), req)
		stored := get(t, observer, req.Key)
		if err != nil || got.Begun != (req.First != nil) || !reflect.DeepEqual(got.Instance, stored) {
			t.Errorf("returned (begun: %v, %v):\n%+v\nstored:\n%+v", got.Begun, err, got.Instance, stored)
		}
		if req.First == nil {
			return
		}
		next := turn(&stored)
		next.Completes = []provider.TaskCompletion{{EventID: 2, Token: req.First.Tasks[0].Lease.Token}}
		if len(req.First.Timers) > 0 { // this process also caches the inbox correctly
			next.CancelTimers = []int64{3}
		}
		commit(t, p, next)
	}
	stores(plain())
	stores(child)
	stores(rich)
	for _, group := range [][]provider.CreateRequest{{plain(), plain()}, {plain(), createRequest("without"), plain()}} {
		blocker, err := p.db.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sent sync.WaitGroup
		for _, req := range group {
			sent.Go(func() { stores(req) })
		}
		blocker.Release()
		sent.Wait()
	}
	checkConsistent(t, p)
}

// A process that hands off a task by a create shows that it lives. Otherwise others end the lease.
func TestFirstTurnShowsThatItsOwnerLives(t *testing.T) {
	p := store(t)
	begun(t, p, "in")
	eventually(t, "the owner is served", func() bool {
		return number(t, p, `SELECT count(*) FROM perdure.process WHERE owners = '{node}'`) == 1
	})
}
