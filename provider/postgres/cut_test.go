package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/raced"
	"github.com/perdure/perdure/provider"
)

// How a connection breaks.
const (
	cutBefore = "before it is sent"
	cutAfter  = "before its answer"
	cutKilled = "as the server ends the session"
)

func cuts() []string { return []string{cutBefore, cutAfter, cutKilled} }

// scissors break a connection at the n-th round trip that has one of the marks in it.
type scissors struct {
	mu    sync.Mutex
	marks [][]byte
	left  int // round trips before the one that breaks; below 0: none breaks
	how   string
	kill  func(net.Conn)
	used  bool
}

// arm breaks the connection of the n-th round trip from now on, counted from 0.
func (s *scissors) arm(n int, how string, marks ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks, s.left, s.how, s.used = marks, n, how, false
}

// disarm reports whether a connection was broken.
func (s *scissors) disarm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = -1
	return s.used
}

// cuts returns how the round trip breaks that begins with b, "" if it does not.
func (s *scissors) cuts(b []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left < 0 || !slices.ContainsFunc(s.marks, func(mark []byte) bool { return bytes.Contains(b, mark) }) {
		return ""
	}
	if s.left--; s.left >= 0 {
		return ""
	}
	s.used = true
	return s.how
}

// cuttable is a connection that scissors break.
type cuttable struct {
	answerless

	by *scissors
}

func (c *cuttable) Write(b []byte) (int, error) {
	switch c.by.cuts(b) {
	case cutBefore:
		_ = c.Close() // the server rolls back
		return 0, syscall.ECONNRESET
	case cutAfter:
		c.doomed.Store(true)
	case cutKilled:
		c.by.kill(c.Conn)
	}
	return c.answerless.Write(b)
}

// Read loses the answer to a round trip that breaks, which may leave a transaction open.
func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil || !c.doomed.Load() {
		return n, err
	}
	ready := []byte(idle[:len(idle)-1])
	for lost := bytes.Clone(b[:n]); !bytes.Contains(lost, ready); lost = append(lost, b[:n]...) {
		if n, err = c.Conn.Read(b); err != nil {
			return 0, err
		}
	}
	return 0, syscall.ECONNRESET
}

// cut makes the first handle of a stage one whose connections scissors break.
func (s *stage) cut() *scissors {
	s.t.Helper()
	by := &scissors{left: -1, kill: func(conn net.Conn) {
		local, ok := conn.LocalAddr().(*net.TCPAddr)
		if !ok {
			s.t.Error("not a connection over TCP")
			return
		}
		const end = `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE client_port = $1`
		var n int
		if err := s.cold.db.pool.QueryRow(s.t.Context(), end, local.Port).Scan(&n); err != nil || n != 1 {
			s.t.Errorf("%d sessions were ended: %v", n, err)
		}
	}}
	url := postgrestest.URL(s.t)
	made := pool(s.t, url, func(c *pgxpool.Config) {
		c.MaxConns = 4
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &cuttable{answerless{Conn: conn}, by}, err
		}
	})
	s.first = anotherHandle(s.t, made, Options{Schema: s.cold.db.opts.Schema, ListenURL: url, unprimed: true})
	return by
}

// marks are what the round trips of a call on a scene have in them.
func marks(scene raced.Scene) (list [][]byte) {
	for _, u := range scene.Keys() {
		list = append(list, bytes.Clone(u[:]))
	}
	return append(list, []byte(scene.ID()))
}

// A call is cut at each of its round trips. It is stored or not. If its caller is told which, that is true. The next call goes by what is
// stored, not by what was cached.
func TestHazard100_CutAtEachRoundTrip(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	by := s.cut()
	probe, _ := raced.Named("message")
	cut := 0
	for i, call := range members() {
		for j, how := range cuts() {
			if testing.Short() && (i+5*j)%23 != 0 {
				continue
			}
			for n, state := 0, raced.State((i+j)%2); ; n++ {
				scene, began := s.scene(s.first, state)
				by.arm(n, how, marks(scene)...)
				heard := call.Do(t.Context(), provider.FullOf(s.first), scene)
				if !by.disarm() {
					break
				}
				cut++
				got := ending{heard: [2]string{heard, probe.Do(t.Context(), provider.FullOf(s.first), scene)}}
				got.rows = scene.Plain(s.rows(), began)
				stored, none := s.sequence(state, call, probe), s.sequence(state, probe)
				isStored := slices.Equal(got.rows, stored.rows) && got.heard[1] == stored.heard[1]
				isNone := slices.Equal(got.rows, none.rows) && got.heard[1] == none.heard[0]
				if !isStored && !isNone || !strings.HasPrefix(heard, "failed") && (heard != stored.heard[0] || !isStored) ||
					strings.HasPrefix(heard, "failed, "+provider.OutcomeNothing.String()) && !isNone {
					t.Errorf("%s: %q, cut at round trip %d %s, heard %q:\nnot as stored (-stored +cut):\n%s\nnot as if nothing had happened:\n%s", state, call.Name, n, how,
						heard, cmp.Diff(stored.rows, got.rows), cmp.Diff(none.rows, got.rows))
				}
			}
		}
	}
	t.Logf("%d round trips were cut", cut)
	if cut == 0 {
		t.Error("nothing was cut")
	}
	checkConsistent(t, s.cold)
}

// A group is cut that has the claim of a fetch in it: one that is known without a statement, or one that is stated. The fetch gets the work
// in the end, or its caller hears that it may have it. Nobody waits for the end of a lease.
func TestHazard100_CutStrandsNoClaim(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	by := s.cut()
	turn, _ := raced.Named("turn")
	message, _ := raced.Named("message")
	fetch, _ := raced.Named("fetch of turns")
	for _, known := range []bool{true, false} {
		for _, how := range cuts() {
			if testing.Short() && known != (how == cutAfter) {
				continue
			}
			for n := 0; ; n++ {
				scene, _ := s.scene(s.first, raced.Leased)
				if heard := turn.Do(t.Context(), provider.FullOf(s.first), scene); !strings.HasPrefix(heard, "ok") {
					t.Fatal(heard)
				}
				if !known {
					s.first.cache.mu.Lock()
					s.first.cache.remove(scene.Key())
					s.first.cache.mu.Unlock()
				}
				req := scene.Waiting(lease)
				type result struct {
					res provider.FetchTurnsResult
					err error
				}
				fetched := make(chan result, 1)
				go func() {
					res, err := s.first.FetchTurns(t.Context(), req)
					fetched <- result{res, err}
				}()
				awaitWaiting(t, s.first)
				by.arm(n, how, marks(scene)...)
				heard := message.Do(t.Context(), provider.FullOf(s.first), scene)
				used := by.disarm()
				if number(t, s.cold, `SELECT count(*) FROM perdure.inbox WHERE key = $1 AND NOT timer`, uuid(scene.Key())) == 0 {
					if strings.HasPrefix(heard, "ok") {
						t.Fatalf("a message is lost: %s", heard)
					}
					message.Do(t.Context(), provider.FullOf(s.first), scene)
				}
				var got result
				select {
				case got = <-fetched:
				case <-time.After(20 * time.Second):
					t.Fatalf("known: %v, round trip %d cut %s: the fetch waits, and heard is %s", known, n, how, heard)
				}
				if got.err != nil { // its caller undoes it, by its token, and looks again
					if provider.OutcomeOf(got.err) == provider.OutcomeUnknown {
						_, err := s.first.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Kind: provider.ReleaseToken, Token: req.Token}}})
						if err != nil {
							t.Fatal(err)
						}
					}
					eventually(t, "another fetch gets the turn", func() bool {
						return strings.Contains(fetch.Do(t.Context(), provider.FullOf(s.another), scene), "Running")
					})
				} else if len(got.res.Turns) != 1 || got.res.Turns[0].Instance.Deliveries != 1 || len(got.res.Turns[0].Messages) != 1 ||
					number(t, s.cold, `SELECT count(*) FROM perdure.instance WHERE lease_token = $1`, uuid(req.Token)) != 1 {
					t.Errorf("known: %v, round trip %d cut %s: fetched %+v", known, n, how, got.res)
				}
				if !used {
					break
				}
			}
		}
	}
	checkConsistent(t, s.cold)
}

// A first turn is stored by a process that has read nothing. If the ID or the key is in use by then, the call is judged again.
func TestHazard100_FirstTurnsCollide(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	s := newStage(t)
	for _, name := range []string{"new start", "rival start", "start of a child", "reach"} {
		for _, other := range []string{"new start", "rival start", "start of a child"} {
			call, _ := raced.Named(name)
			act, _ := raced.Named(other)
			s.check(raced.Ready, call, act)
		}
	}
	if s.cached == 0 {
		t.Error("no start was stored without a read")
	}
	// The next groups of this process read first, and then it goes on as before.
	p := s.first
	for range 6 {
		begun(t, p, unique().String())
	}
	_, err := p.Create(t.Context(), createRequest("once"))
	if err != nil {
		t.Fatal(err)
	}
	again := createRequest("once")
	again.First = firstTurn(&again)
	if _, err := p.Create(t.Context(), again); !errors.Is(err, provider.ErrExists) {
		t.Errorf("a second instance of one ID: %v", err)
	}
}
