package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// fatal is in the payload of calls that the server stores without a response.
const fatal = "its answer is lost"

// cancelRequest is the code of a CancelRequest message; see "Message Formats" in the Postgres documentation.
const cancelRequest = 80877102

// idle is the message ReadyForQuery of a session whose transaction has ended.
const idle = "Z\x00\x00\x00\x05I"

// answerless is a connection that breaks when the transaction that carried fatal has ended. Its responses are lost.
type answerless struct {
	net.Conn

	doomed atomic.Bool
}

func (c *answerless) Write(b []byte) (int, error) {
	// The driver asks the server to cancel what a broken connection was doing. That request must not overtake the
	// commit.
	if len(b) == 16 && binary.BigEndian.Uint32(b[4:]) == cancelRequest {
		return len(b), c.Close() // the driver would wait 15 s for the server's end of the request
	}
	if bytes.Contains(b, []byte(fatal)) {
		c.doomed.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *answerless) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil || !c.doomed.Load() {
		return n, err
	}
	// A server whose connection breaks before it has read the commit stores nothing.
	for lost := bytes.Clone(b[:n]); !bytes.Contains(lost, []byte(idle)); lost = append(lost, b[:n]...) {
		if n, err = c.Conn.Read(b); err != nil {
			return 0, err
		}
	}
	return 0, syscall.ECONNRESET
}

// losing opens a store whose connections are answerless.
func losing(t *testing.T) *Provider {
	t.Helper()
	url := postgrestest.URL(t)
	made := pool(t, url, func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &answerless{Conn: conn}, err
		}
	})
	p, err := NewWith(t.Context(), made, Options{Schema: postgrestest.Schema(t, url), Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	listening(t, p)
	return p
}

// unknown makes a call whose response is lost.
func unknown(t *testing.T, call func() error) {
	t.Helper()
	if err := call(); provider.OutcomeOf(err) != provider.OutcomeUnknown || !provider.Retryable(err) {
		t.Errorf("a call whose answer was lost returns %v", err)
	}
}

// A fetch whose claim was attached to a group of unknown outcome must return that error. Otherwise nobody would run
// or release the work that it may have leased.
func TestClaimOfAnUnknownGroupIsUnknownToo(t *testing.T) {
	longtest.Skip(t)
	for _, known := range []bool{false, true} {
		p := losing(t)
		in := create(t, p, "in")
		req := turnsRequest()
		req.Wait = time.Minute
		if known { // then the claim is part of what the group writes
			first := fetchTurns(t, p, turnsRequest())
			commit(t, p, consuming(t, p, &first[0]))
		} else {
			fetchTurns(t, p, turnsRequest())
		}
		fetched := make(chan error, 1)
		go func() {
			_, err := p.FetchTurns(t.Context(), req)
			fetched <- err
		}()
		awaitWaiting(t, p)
		unknown(t, func() error {
			if known {
				_, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: text(fatal)})
				return err
			}
			other := createRequest("other")
			other.Message = text(fatal)
			_, err := p.Create(t.Context(), other)
			return err
		})
		if n := number(t, p, `SELECT count(*) FROM perdure.instance WHERE lease_token = $1`, uuid(req.Token)); n != 1 {
			t.Fatalf("known: %v: %d claims were attached", known, n)
		}
		select {
		case err := <-fetched:
			if provider.OutcomeOf(err) != provider.OutcomeUnknown || !provider.Retryable(err) {
				t.Errorf("known: %v: the fetch returns %v", known, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("known: %v: the fetch sleeps on its claim", known)
		}
	}
}

// After a group of unknown outcome, all processes look at once for what it may have stored.
func TestUnknownGroupsAreLookedFor(t *testing.T) {
	longtest.Skip(t)
	p := losing(t)
	p.waiters.standbyFor = 0
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	in := create(t, p, "in")
	fetchTurns(t, p, turnsRequest())
	listening(t, other)
	var notices atomic.Int64
	defer p.Notify(func(provider.Notice) { notices.Add(1) })()
	awaited := make(chan provider.GetResult, 2)
	for _, p := range []*Provider{p, other} {
		go func() {
			res, _ := p.Get(t.Context(), provider.GetRequest{Key: in.Key, WaitEnded: true, Wait: time.Minute})
			awaited <- res
		}()
	}
	eventually(t, "both wait", func() bool { return p.hub.Watched(in.Key) && other.hub.Watched(in.Key) })
	last := turn(&in, 1)
	last.Status, last.Result = provider.StatusCompleted, []byte(fatal)
	// On a busy machine the server may take the group for one whose clock was set, and refuse it: then nothing was stored.
	var began time.Time
	for stored := int64(0); stored == 0; stored = number(t, other, `SELECT count(*) FROM perdure.instance WHERE key = $1 AND status <> 1`, uuid(in.Key)) {
		began = time.Now()
		unknown(t, func() error {
			_, err := p.CommitTurn(t.Context(), last)
			return err
		})
	}
	for range 2 {
		if res := <-awaited; res.Instance.Status != provider.StatusCompleted {
			t.Errorf("it waits for %v", res.Instance.Status)
		}
	}
	if took := time.Since(began); took > 7*time.Second { // half of the slow recheck
		t.Errorf("the end was found after %v", took)
	}
}
