package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Sends serialise with closing: the turn that closed the instance saw every accepted message.
func TestHazard04_SendSerialisesWithClosing(t *testing.T) {
	p := store(t)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	accepted, refused := 0, 0
	for range 150 {
		in := create(t, p, unique().String())
		var sent provider.SendResult
		var err error
		var sending sync.WaitGroup
		sending.Go(func() { sent, err = other.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: text("m")}) })
		consumed := close1(t, p, &in)
		sending.Wait()
		switch {
		case err == nil && slices.Contains(consumed, sent.MessageID):
			accepted++
		case errors.Is(err, provider.ErrEnded):
			refused++
		default:
			t.Fatalf("message %d was accepted (%v), and the closing turn saw %v", sent.MessageID, err, consumed)
		}
	}
	t.Logf("%d were accepted, %d came too late", accepted, refused)
	checkConsistent(t, p)
}

// close1 closes an instance as the engine does: with every waiting message, until none is left.
func close1(t *testing.T, p *Provider, in *provider.Instance) []int64 {
	t.Helper()
	for consumed := []int64{1}; ; {
		c := turn(in, consumed...)
		c.Status = provider.StatusCompleted
		_, err := p.CommitTurn(t.Context(), c)
		if err == nil {
			return consumed
		}
		if !errors.Is(err, provider.ErrInboxNotEmpty) {
			t.Fatal(err)
		}
		consumed = []int64{1, 2}
	}
}

// A message that arrives while a turn is committed always wakes the instance.
func TestHazard05_ReadyTimeIsNeverLost(t *testing.T) {
	t.Parallel()
	p := store(t)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	in := create(t, p, "in")
	waiting := int64(1)
	for round := range longtest.Pick(100, 1500) {
		var sent provider.SendResult
		var err error
		var sending sync.WaitGroup
		sending.Go(func() { sent, err = other.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: text("m")}) })
		c := turn(&in, waiting)
		commit(t, p, c)
		sending.Wait()
		if err != nil {
			t.Fatal(err)
		}
		in.Version, waiting = c.Commit, sent.MessageID
		if n := number(t, p, `SELECT count(*) FROM perdure.instance WHERE ready_at > 0 AND fetch_at > 0 AND key = $1`, uuid(in.Key)); n != 1 {
			t.Fatalf("round %d: a message waits, and nobody will fetch it", round)
		}
	}
	p.janitor.sweep()
	if n := p.janitor.mended.Load(); n != 0 {
		t.Errorf("the janitor had to mend %d", n)
	}
	checkConsistent(t, p)
}

// A task that is fetched while its instance is created must not look like one of an instance that is gone.
func TestHazard14_FreshTaskIsNeverMissing(t *testing.T) {
	p := store(t)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	const rounds = 100
	var making sync.WaitGroup
	for range 4 {
		making.Go(func() {
			for range rounds / 4 {
				req := createRequest(unique().String())
				if _, err := p.Create(t.Context(), req); err != nil {
					t.Error(err)
					return
				}
				in := provider.Instance{Key: req.Key, Execution: 1, Version: req.Commit}
				c := turn(&in, 1)
				c.Events, c.Tasks = [][]byte{[]byte("e")}, []provider.NewTask{{EventID: 1, Queue: "q", Name: "act"}}
				if _, err := p.CommitTurn(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for got := 0; got < rounds; {
		req := tasksRequest()
		req.Wait = lease
		res, err := other.FetchTasks(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Tasks {
			if state := res.Tasks[i].State; state.Kind != provider.ExecutionRunning {
				t.Fatalf("a fresh task has state %+v", state)
			}
			got++
		}
	}
	making.Wait()
}

// Leases begin when they are granted, not when a transaction that waited for a lock began.
func TestHazard26_LeasesBeginAfterTheWait(t *testing.T) {
	p := store(t)
	in := create(t, p, "in")
	for {
		release := hold(t, p, in.Key)
		conn, err := p.db.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		u := p.units.on(t.Context(), conn.Conn())
		u.wait = true
		begun := make(chan error, 1)
		go func() { begun <- u.begin(relational.Needs{Keys: []provider.UUID{in.Key}}) }()
		waits := func() bool {
			return number(t, p, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid = $1`, conn.Conn().PgConn().PID()) > 0
		}
		eventually(t, "the transaction waits", func() bool { return waits() || len(begun) > 0 })
		locked := number(t, p, `SELECT `+sqlNow)
		release()
		err = <-begun
		u.rollback()
		conn.Release()
		if sqlState(err) == stateLockTimeout {
			continue // this machine is slow
		}
		if err != nil {
			t.Fatal(err)
		}
		if int64(u.now) < locked {
			t.Errorf("the lock was got after %d, but the time of the transaction is %d", locked, u.now)
		}
		return
	}
}

// A commit deletes the messages that it names, not all up to one.
func TestHazard37_OnlyNamedMessagesAreConsumed(t *testing.T) {
	p := store(t)
	in := create(t, p, "in")
	first, second := send(t, p, in.Key, text("a")), send(t, p, in.Key, text("b"))
	c := turn(&in, second.MessageID)
	commit(t, p, c)
	if n := number(t, p, `SELECT count(*) FROM perdure.inbox WHERE key = $1 AND id IN (1, $2)`, uuid(in.Key), first.MessageID); n != 2 {
		t.Errorf("%d of the two messages that nobody named are left", n)
	}
	now := get(t, p, in.Key)
	gone := turn(&now, first.MessageID, second.MessageID)
	if _, err := p.CommitTurn(t.Context(), gone); !errors.Is(err, provider.ErrConflict) {
		t.Errorf("a message that is gone: %v", err)
	}
	checkConsistent(t, p)
}

// The program may hold all connections of its pool in transactions of its own. Leases are renewed all the same.
func TestHazard35_RenewalsOwnTheirConnections(t *testing.T) {
	url := postgrestest.URL(t)
	pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns=4")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	p, err := NewWith(t.Context(), pool, Options{Schema: postgrestest.Schema(t, url), Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	in := create(t, p, "in")
	c := turn(&in, 1)
	c.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: unique(), Owner: "node", Duration: lease}}}
	c.Events = [][]byte{[]byte("e")}
	commit(t, p, c)
	for range 4 {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	res, err := p.RenewTasks(ctx, provider.RenewTasksRequest{Lease: lease, Items: []provider.TaskRenewal{{
		TaskRef: provider.TaskRef{Key: in.Key, Execution: 1, EventID: 1}, Token: c.Tasks[0].Lease.Token,
	}}})
	if err != nil || res.Items[0].Err != nil {
		t.Errorf("a renewal while the program holds its pool: %v, %+v", err, res.Items)
	}
}
