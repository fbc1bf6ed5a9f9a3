package postgres

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// wire counts round trips: each time that something is written after something was read.
type wire struct {
	trips atomic.Int64
}

type counted struct {
	net.Conn
	wire *wire
	sent atomic.Bool // and nothing read since
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &counted{Conn: conn, wire: w}, err
}

func (c *counted) Write(b []byte) (int, error) {
	if !c.sent.Swap(true) {
		c.wire.trips.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.sent.Store(false)
	}
	return n, err
}

// counting opens a store with one connection whose round trips are counted. One connection is enough for everything: no
// call may hold one while it requests another.
func counting(t *testing.T) (*Provider, *wire) {
	t.Helper()
	url, w := postgrestest.URL(t), &wire{}
	made := pool(t, url, func(c *pgxpool.Config) { c.ConnConfig.DialFunc, c.MaxConns = w.dial, 1 })
	// Notifications have connections of their own, outside of all calls.
	p, err := NewWith(t.Context(), made, Options{Schema: postgrestest.Schema(t, url), ListenURL: url, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	listening(t, p)
	return p, w
}

// maxRuns is how often costs runs a function at most.
const maxRuns = 2 + 3

// costs runs fn some times, so that its statements are prepared and its kinds known. Then it compares the round trips
// of one more run with what it may cost. One of three tries must match. If the listening connection is made only now,
// the next fetch reads the kinds again. A process that gets leases also renews its row.
func (w *wire) costs(t *testing.T, what string, want int64, fn func()) {
	t.Helper()
	for range 2 {
		fn()
	}
	var got int64
	for range maxRuns - 2 {
		before := w.trips.Load()
		fn()
		if got = w.trips.Load() - before; got == want {
			return
		}
	}
	t.Errorf("%s: %d round trips, want %d", what, got, want)
}

// step creates an instance whose turn is fetched, and returns the commit for it.
func step(t *testing.T, p *Provider) (provider.Turn, provider.CommitTurnRequest) {
	t.Helper()
	create(t, p, unique().String())
	return nextTurn(t, p)
}

// nextTurn fetches one turn and returns a commit that consumes its message.
func nextTurn(t *testing.T, p *Provider) (provider.Turn, provider.CommitTurnRequest) {
	t.Helper()
	req := turnsRequest()
	turns := fetchTurns(t, p, req)
	if len(turns) != 1 {
		t.Fatalf("fetched %d turns", len(turns))
	}
	c := turn(&turns[0].Instance, turns[0].Messages[0].ID)
	c.Lease, c.Events = req.Token, [][]byte{[]byte("started"), []byte("scheduled")}
	return turns[0], c
}

func TestRoundTripsOfClaims(t *testing.T) {
	p, w := counting(t)
	w.costs(t, "fetch nothing, before the first lease", 2, func() { fetchTurns(t, p, turnsRequest()) })
	if err := p.presence.show(t.Context(), "node", lease); err != nil {
		t.Fatal(err)
	}
	w.costs(t, "fetch nothing", 1, func() { fetchTurns(t, p, turnsRequest()) })
	ready := func() {
		req := createRequest(unique().String())
		req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 5}}
		if _, err := p.Create(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	for range maxRuns {
		ready()
	}
	w.costs(t, "fetch turns", 1, func() {
		req := turnsRequest()
		req.Max = 1
		turns := fetchTurns(t, p, req)
		if len(turns) != 1 || len(turns[0].Messages) != 1 || len(turns[0].Instance.Attributes) != 1 {
			t.Fatalf("fetched %+v", turns)
		}
	})
	w.costs(t, "fetch no tasks", 1, func() {
		if _, err := p.FetchTasks(t.Context(), tasksRequest()); err != nil {
			t.Fatal(err)
		}
	})
	fetchTurns(t, p, turnsRequest()) // what is left
	_, c := step(t, p)
	for i := range maxRuns {
		c.Tasks = append(c.Tasks, provider.NewTask{EventID: int64(i) + 2, Queue: "q", Name: "act"})
	}
	commit(t, p, c)
	w.costs(t, "fetch tasks", 1, func() {
		req := tasksRequest()
		req.Max = 1
		res, err := p.FetchTasks(t.Context(), req)
		if err != nil || len(res.Tasks) != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
	})
}

func TestRoundTripsOfWrites(t *testing.T) {
	p, w := counting(t)
	observer := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	w.costs(t, "create", 1, func() { create(t, p, unique().String()) })
	fetchTurns(t, p, turnsRequest())
	w.costs(t, "create with its first turn, and the next one", 2, func() {
		next := begun(t, p, unique().String())
		commit(t, p, next)
	})
	in := create(t, p, "receiver")
	fetchTurns(t, p, turnsRequest())
	w.costs(t, "send", 1, func() { send(t, p, in.Key, text("m")) })

	// A step by hand-off: the commit completes the last task and writes the next one, leased.
	_, c := step(t, p)
	token := unique()
	c.Tasks = []provider.NewTask{{EventID: 2, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: token, Owner: "node", Duration: lease}}}
	commit(t, p, c)
	event := int64(2)
	w.costs(t, "single cached step", 1, func() {
		now := get(t, observer, c.Key)
		next := turn(&now)
		next.Completes = []provider.TaskCompletion{{EventID: event, Token: token}}
		next.Events = [][]byte{[]byte("completed"), []byte("scheduled")}
		event += 2
		next.Tasks = []provider.NewTask{{EventID: event, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: token, Owner: "node", Duration: lease}}}
		commit(t, p, next)
	})
	w.costs(t, "renew", 2, func() {
		item := provider.TaskRenewal{TaskRef: provider.TaskRef{Key: c.Key, Execution: 1, EventID: event}, Token: token}
		res, err := p.RenewTasks(t.Context(), provider.RenewTasksRequest{Lease: lease, Items: []provider.TaskRenewal{item}})
		if err != nil || res.Items[0].Err != nil {
			t.Fatalf("%+v, %v", res, err)
		}
	})
	w.costs(t, "report", 2, func() {
		item := provider.TaskReport{TaskRef: provider.TaskRef{Key: c.Key, Execution: 1, EventID: event}, Token: token, Attempt: 1, Outcome: provider.TaskComplete}
		if _, err := p.ReportTasks(t.Context(), provider.ReportTasksRequest{Items: []provider.TaskReport{item}}); err != nil {
			t.Fatal(err)
		}
	})
}

// Calls that wait while a group is in flight go into the next one.
func TestRoundTripsOfGroups(t *testing.T) {
	p, w := counting(t)
	receivers := make([]provider.Instance, 20)
	for i := range receivers {
		receivers[i] = create(t, p, unique().String())
	}
	burst := func() {
		blocker, err := p.db.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sent sync.WaitGroup
		for _, in := range receivers {
			sent.Go(func() { send(t, p, in.Key, text("m")) })
		}
		blocker.Release()
		sent.Wait()
	}
	var trips, groups int64
	for range maxRuns { // chance decides which calls are single steps, and the first of those prepare their statement
		trips, groups = w.trips.Load(), p.commits.count.Load()
		burst()
		trips, groups = w.trips.Load()-trips, p.commits.count.Load()-groups
		if trips == groups && groups <= 10 {
			return
		}
	}
	t.Errorf("20 sends in %d groups, %d round trips", groups, trips)
}
