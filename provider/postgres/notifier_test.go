package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// fetchLater runs a waiting fetch and returns its turns.
func fetchLater(t *testing.T, p *Provider) <-chan []provider.Turn {
	t.Helper()
	_, got := fetchUntil(t, p)
	return got
}

// fetchUntil fetches until it gets something or is stopped.
func fetchUntil(t *testing.T, p *Provider) (stop func(), got <-chan []provider.Turn) {
	t.Helper()
	req := turnsRequest()
	req.Wait = lease
	turns := make(chan []provider.Turn, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		defer close(turns)
		res, err := p.FetchTurns(ctx, req)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
		turns <- res.Turns
	}()
	eventually(t, "the fetch waits or has returned", func() bool { return len(turns) > 0 || isWaiting(p) })
	return cancel, turns
}

// awaitWaiting waits until a fetch sleeps.
func awaitWaiting(t *testing.T, p *Provider) {
	t.Helper()
	eventually(t, "the fetch waits", func() bool { return isWaiting(p) })
}

// isWaiting reports whether a fetch sleeps.
func isWaiting(p *Provider) bool {
	p.waiters.mu.Lock()
	defer p.waiters.mu.Unlock()
	for call := range p.waiters.waiting {
		if call.piggyback.state.Load() == claimWaiting {
			return true
		}
	}
	return false
}

// eventually polls a condition that causes no notification.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}

// inSomeRound demands that one of several rounds succeeds. A busy machine spoils a round now and then. A fault spoils all.
// The limit of a round is fallback/2, because a poll comes after three quarters of fallback at the earliest.
func inSomeRound(t *testing.T, round func() error) {
	t.Helper()
	var err error
	for range 5 {
		if err = round(); err == nil {
			return
		}
		t.Logf("another round: %v", err)
	}
	t.Error(err)
}

// listening waits until a store listens for notifications.
func listening(t *testing.T, p *Provider) {
	t.Helper()
	eventually(t, "the store listens", func() bool { return p.notifier.listening.Load() })
}

// A ListenURL may have parameters of the pool, which the guide recommends for the main URL.
func TestListenURLWithPoolParameters(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	p := opened(t, url, Options{Schema: postgrestest.Schema(t, url), ListenURL: url + "&pool_max_conns=8&pool_min_conns=2"})
	listening(t, p)
}

func TestWakeUpCrossesProviders(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	client, worker := opened(t, url, Options{Schema: schema}), opened(t, url, Options{Schema: schema})
	create(t, client, "first") // its kind is known from now on
	listening(t, worker)
	eventually(t, "the worker knows the kind", func() bool { return len(fetchTurns(t, worker, turnsRequest())) == 1 })
	var took []time.Duration
	for range 40 {
		fetched := fetchLater(t, worker)
		began := time.Now()
		create(t, client, unique().String())
		<-fetched
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p50 := took[len(took)/2]
	t.Logf("start here, fetched there: p50 %v, worst %v", p50, took[len(took)-1])
	if p50 > fallback/5 { // 5 ms on an idle machine; a process without notifications polls
		t.Errorf("p50 is %v", p50)
	}
}

// A repeated Answer of unknown outcome reaches the asker by notification, not by its next poll.
func TestRepeatedAnswerNotifiesTheAsker(t *testing.T) {
	p := store(t)
	in := create(t, p, "in")
	inSomeRound(t, func() error {
		id, polled := unique(), p.asks.polls.Load()
		asked := make(chan error, 1)
		go func() {
			_, err := p.Ask(t.Context(), provider.AskRequest{Key: in.Key, AskID: id, Wait: lease})
			asked <- err
		}()
		eventually(t, "the asker has polled", func() bool { return p.asks.polls.Load() > polled && p.db.pool.Stat().AcquiredConns() == 0 })
		exec(t, p, `UPDATE perdure.ask SET answered = true, answer = ''`) // by a call that never returned
		began := time.Now()
		if err := p.Answer(t.Context(), provider.AnswerRequest{AskID: id}); !errors.Is(err, provider.ErrNotFound) {
			t.Fatalf("the repeat returns %v", err)
		}
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > fallback/2 { // the poll comes after fallback
			return fmt.Errorf("the asker heard after %v", took)
		}
		if p.asks.polls.Load() == polled+1 {
			return errors.New("the first poll of the asker was so late that it saw the answer")
		}
		return nil
	})
}

func TestLostNotificationsAreHealed(t *testing.T) {
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	deaf := Options{Schema: schema, ListenURL: "postgres://nobody@127.0.0.1:1/nothing?connect_timeout=1"}
	client, worker := opened(t, url, deaf), opened(t, url, deaf)
	fetched := fetchLater(t, worker)
	create(t, client, "unheard")
	select {
	case got := <-fetched:
		if len(got) != 1 {
			t.Errorf("fetched %d", len(got))
		}
	case <-time.After(2 * fallback):
		t.Error("the instance was not found")
	}
}

// A fetch that has slept until an earlier time must still learn of a later one.
func TestDueTimesAreForgotten(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	p, thief := opened(t, url, Options{Schema: schema}), opened(t, url, Options{Schema: schema})
	in := create(t, p, "in")
	commit(t, p, turn(&in, 1))
	listening(t, p)
	inSomeRound(t, func() error {
		fetched := fetchLater(t, p)
		// The earlier time passes without work, as that of a message which another process sent and consumed.
		p.waiters.notify(&signal{Due: p.cache.clock.now().Add(300 * time.Millisecond)}, nil)
		eventually(t, "the fetch polled in vain", func() bool { return waitingUntil(p) == relational.Never })
		began := time.Now()
		send(t, thief, in.Key, provider.NewMessage{Delay: 300 * time.Millisecond})
		got := <-fetched
		took := time.Since(began)
		if len(got) != 1 {
			t.Fatalf("fetched %d turns", len(got))
		}
		commit(t, p, consuming(t, p, &got[0]))
		if took > fallback/2 {
			return fmt.Errorf("a message with a delay of 300 ms was fetched after %v", took)
		}
		return nil
	})
}

func waitingUntil(p *Provider) int64 {
	p.waiters.mu.Lock()
	defer p.waiters.mu.Unlock()
	for call := range p.waiters.waiting {
		return call.next.Load()
	}
	return 0
}

func TestListenerReconnects(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	create(t, p, "kind")
	fetchTurns(t, p, turnsRequest())
	for range 3 {
		listening(t, p)
		fetched := fetchLater(t, p)
		exec(t, p, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN "' || $1 || '"'`, p.notifier.channel)
		create(t, other, unique().String())
		select {
		case <-fetched:
		case <-time.After(2 * fallback):
			t.Fatal("nothing was fetched")
		}
	}
}

// listener returns a connection that hears what the processes of a store say.
func listener(t *testing.T, p *Provider) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), postgrestest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(withoutCancel(t)); err != nil {
			t.Error(err)
		}
	})
	if _, err := conn.Exec(t.Context(), "LISTEN "+p.notifier.channel); err != nil {
		t.Fatal(err)
	}
	return conn
}

// says reports whether a process sends a signal before another process named "end" sends one.
func says(t *testing.T, conn *pgx.Conn, node string, suits func(*signal) bool) bool {
	t.Helper()
	for {
		n, err := conn.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var in signal
		if err := json.Unmarshal([]byte(n.Payload), &in); err != nil { //nolint:musttag // a Notice goes by its own names
			t.Fatal(err)
		}
		if in.Node == node && suits(&in) || in.Node == "end" {
			return in.Node == node
		}
	}
}

func TestLongSignalsAreSplit(t *testing.T) {
	p := store(t)
	conn := listener(t, p)
	fx := relational.NewEffects()
	want := make(map[provider.UUID]bool)
	for range 2000 {
		key := unique()
		want[key] = true
		fx.Changed = append(fx.Changed, key)
	}
	fx.Turns[7], fx.Due = struct{}{}, 5
	p.notifier.publish(&fx, nil)
	for len(want) > 0 {
		n, err := conn.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var in signal
		err = json.Unmarshal([]byte(n.Payload), &in) //nolint:musttag // a Notice goes by its own names
		if err != nil || len(n.Payload) > maxPayload {
			t.Fatalf("%d bytes, %v", len(n.Payload), err)
		}
		for _, key := range in.Changed {
			delete(want, key)
		}
	}
}

// While nothing can be sent, the unsent signals must not grow for ever.
func TestUnsentSignalsAreBounded(t *testing.T) {
	url := postgrestest.URL(t)
	p := opened(t, url, Options{Schema: postgrestest.Schema(t, url), ListenURL: "postgres://nobody@127.0.0.1:1/nothing"})
	for range 3 * maxPending {
		fx := relational.NewEffects()
		fx.Changed = []provider.UUID{unique()}
		p.notifier.publish(&fx, nil)
	}
	fx, out := p.notifier.take()
	if len(fx.Changed) > maxPending+1 || !out.Lost || out.empty() {
		t.Errorf("%d are kept, lost %t", len(fx.Changed), out.Lost)
	}
}
