package postgres

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/costs"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// spoken is a connection that counts the statements sent: messages of the kinds Execute and Query.
type spoken struct {
	net.Conn
	n *atomic.Int64
}

func (s spoken) Write(b []byte) (int, error) {
	const header = 5
	for rest := b; len(rest) >= header && rest[0] != 0; { // the first message of a connection has no kind
		if rest[0] == 'E' || rest[0] == 'Q' {
			s.n.Add(1)
		}
		rest = rest[min(len(rest), 1+int(binary.BigEndian.Uint32(rest[1:header]))):]
	}
	return s.Conn.Write(b)
}

// withCount opens a store on so many connections, and counts their statements.
func withCount(t *testing.T, url string, connections int32) (*Provider, *atomic.Int64) {
	t.Helper()
	n := new(atomic.Int64)
	made := pool(t, url, func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return spoken{conn, n}, err
		}
		c.MaxConns = connections
	})
	p, err := NewWith(t.Context(), made, Options{Schema: postgrestest.Schema(t, url), ListenURL: url, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	return p, n
}

// What calls allocate on both SQL stores is compared with what is stored: a change that costs a little is seen, too. No notification is
// sent meanwhile. One costs some twenty allocations, and how many calls share it depends on the speed of the machine.
func TestHazard101_CostsOfCalls(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	costs.Check(t, "postgres-calls", costs.Calls(t, func() provider.Provider {
		return opened(t, url, Options{Schema: postgrestest.Schema(t, url), gather: time.Hour})
	}))
}

// The statements of each call, including BEGIN and COMMIT. TestRoundTrips counts how often it waits for results.
func TestCostsOfStatements(t *testing.T) {
	url := postgrestest.URL(t)
	p, n := withCount(t, url, 1)
	observer := opened(t, url, Options{Schema: p.db.opts.Schema})
	var figures []costs.Figure
	// Background work may add statements, so the least of several counts.
	least := func(what string, prepare func() (call func())) {
		fewest := int64(1 << 30)
		for range 5 {
			call := prepare()
			before := n.Load()
			call()
			fewest = min(fewest, n.Load()-before)
		}
		figures = append(figures, costs.Figure{Name: "statements of " + what, Value: float64(fewest)})
	}
	least("a create", func() func() { return func() { create(t, p, unique().String()) } })
	least("a create with its first turn", func() func() { return func() { begun(t, p, unique().String()) } })
	for range 5 { // so that only what follows can be fetched
		fetchTurns(t, p, turnsRequest())
	}
	least("a fetch of one turn", func() func() {
		create(t, observer, unique().String())
		return func() {
			if got := len(fetchTurns(t, p, turnsRequest())); got != 1 {
				t.Fatalf("fetched %d turns", got)
			}
		}
	})
	in := create(t, observer, "receiver")
	fetchTurns(t, p, turnsRequest())
	least("a send", func() func() { return func() { send(t, p, in.Key, text("m")) } })

	least("a turn of one message that ends its instance", func() func() {
		_, c := step(t, p)
		c.Status, c.Result = provider.StatusCompleted, []byte("done")
		return func() { commit(t, p, c) }
	})

	_, c := step(t, p)
	token, event := unique(), int64(2)
	task := func() []provider.NewTask {
		return []provider.NewTask{{EventID: event, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: token, Owner: "node", Duration: lease}}}
	}
	c.Tasks = task()
	commit(t, p, c)
	least("a hand-off step", func() func() {
		now := get(t, observer, c.Key)
		next := turn(&now)
		next.Completes = []provider.TaskCompletion{{EventID: event, Token: token}}
		next.Events = [][]byte{[]byte("completed"), []byte("scheduled")}
		event += 2
		next.Tasks = task()
		return func() { commit(t, p, next) }
	})
	costs.Check(t, "postgres", figures)
}
