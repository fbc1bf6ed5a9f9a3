package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// worker creates one instance after the other and commits turns of them. It repeats failed calls until one returns.
type worker struct {
	t       *testing.T
	p       *Provider
	commits atomic.Int64
	nothing atomic.Int64 // failures after which nothing was stored
	unknown atomic.Int64

	mu   sync.Mutex
	done map[provider.UUID]int64 // commits of each instance
}

func TestRestartsUnderLoad(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t, "fsync=on")
	p, waiting := opened(t, cluster.URL(), Options{}), opened(t, cluster.URL(), Options{})
	w := &worker{t: t, p: p, done: make(map[provider.UUID]int64)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	for range 6 {
		running.Go(func() { w.run(ctx) })
	}
	var fetched atomic.Int64
	running.Go(func() { fetchAll(ctx, waiting, &fetched) })
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		before := w.commits.Load()
		eventually(t, "there is load", func() bool { return w.commits.Load() > before+20 })
		cluster.Stop(t, signal)
		failures := w.nothing.Load() + w.unknown.Load()
		eventually(t, "calls fail", func() bool { return w.nothing.Load()+w.unknown.Load() > failures })
		cluster.Start(t)
		began, taken := time.Now(), fetched.Load()
		before = w.commits.Load()
		eventually(t, "work goes on", func() bool { return w.commits.Load() > before+20 && fetched.Load() > taken })
		t.Logf("%v: work went on after %v", signal, time.Since(began))
	}
	listening(t, waiting) // by itself
	cancel()
	running.Wait()
	t.Logf("%d commits, %d failures with nothing stored, %d unknown", w.commits.Load(), w.nothing.Load(), w.unknown.Load())
	for key, commits := range w.done {
		if in := get(t, p, key); in.HistoryLength < commits || in.HistoryLength > commits+1 { // the end of the test may have cut off the last one
			t.Errorf("%d events after %d commits", in.HistoryLength, commits)
		}
	}
	checkConsistent(t, p)
}

// fetchAll keeps a fetch waiting. It sees failures, and continues.
func fetchAll(ctx context.Context, p *Provider, fetched *atomic.Int64) {
	for ctx.Err() == nil {
		req := turnsRequest()
		req.Wait = lease
		res, err := p.FetchTurns(ctx, req)
		fetched.Add(int64(len(res.Turns)))
		if err != nil {
			relax(ctx)
		}
	}
}

// relax waits briefly before a retry, as the engine does.
func relax(ctx context.Context) { pause(ctx, 10) }

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		req := createRequest(unique().String())
		req.RequestID = req.ID
		var in provider.Instance
		if !w.until(ctx, func() error {
			res, err := w.p.Create(ctx, req)
			in = res.Instance
			return err
		}) {
			return
		}
		if in.Key != req.Key {
			w.t.Errorf("a repeated Create returned another instance")
		}
		for range 5 {
			if !w.step(ctx, &in) {
				return
			}
		}
	}
}

// step commits one turn exactly once, whatever happens meanwhile.
func (w *worker) step(ctx context.Context, in *provider.Instance) bool {
	c := turn(in)
	c.Events = [][]byte{[]byte("e")}
	unsure := false // an earlier try may have stored it
	ok := w.until(ctx, func() error {
		_, err := w.p.CommitTurn(ctx, c)
		unsure = unsure || provider.OutcomeOf(err) == provider.OutcomeUnknown
		if err == nil || unsure || ctx.Err() != nil {
			return err
		}
		w.until(ctx, func() error { // its error must be true
			res, getErr := w.p.Get(ctx, provider.GetRequest{Key: c.Key})
			if getErr == nil && res.Instance.Version == c.Commit {
				w.t.Errorf("it was stored, though %v", err)
			}
			return getErr
		})
		return err
	})
	if !ok {
		return false
	}
	in.Version, in.HistoryLength = c.Commit, in.HistoryLength+1
	w.commits.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[c.Key] = in.HistoryLength
	return true
}

// until repeats a call. It returns false if the test is over.
func (w *worker) until(ctx context.Context, call func() error) bool {
	for {
		err := call()
		var failure *provider.Error
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case !errors.As(err, &failure) || !failure.Retryable:
			w.t.Errorf("an outage became %v", err)
			return false
		case failure.Outcome == provider.OutcomeNothing:
			w.nothing.Add(1)
		default:
			w.unknown.Add(1)
		}
		relax(ctx)
	}
}

// muted is a connection on which nothing arrives any more, once it is silent.
type muted struct {
	net.Conn
	silent *atomic.Bool
}

func (c *muted) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.silent.Load() {
			return n, err
		}
	}
}

func TestCloseWhileTheServerIsDown(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, what := range []string{"killed", "silent"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cluster := postgrestest.New(t)
			var silence atomic.Bool
			over := make(chan struct{})
			defer close(over)
			made := pool(t, cluster.URL(), func(c *pgxpool.Config) {
				c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
					if silence.Load() {
						select {
						case <-ctx.Done():
						case <-over:
						}
						return nil, syscall.ETIMEDOUT
					}
					conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
					return &muted{conn, &silence}, err
				}
			})
			p, err := NewWith(t.Context(), made, Options{Logger: silent, Timeout: lease})
			if err != nil {
				t.Fatal(err)
			}
			in := create(t, p, "in")
			fetchTurns(t, p, turnsRequest())
			calls := make(chan error, 2)
			if what == "killed" {
				cluster.Stop(t, syscall.SIGKILL)
			}
			silence.Store(what == "silent")
			go func() {
				req := turnsRequest()
				req.Wait = lease
				_, err := p.FetchTurns(t.Context(), req)
				calls <- err
			}()
			go func() {
				_, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: text("m")})
				calls <- err
			}()
			if what == "silent" {
				eventually(t, "both calls wait for the server", func() bool { return made.Stat().AcquiredConns()+made.Stat().ConstructingConns() >= 2 })
			}
			began := time.Now()
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 3*closeGrace {
				t.Errorf("closing took %v", took)
			}
			for range 2 {
				if err := <-calls; err == nil {
					t.Error("a call returned from a server that is down")
				}
			}
		})
	}
}
