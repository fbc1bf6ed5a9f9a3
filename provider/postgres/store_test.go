package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const lease = time.Minute

var (
	orc    = []provider.Capability{{Name: "orc", CodeVersion: "v1"}}
	queue  = []provider.QueueFilter{{Queue: "q", Names: []string{"act"}}}
	silent = slog.New(slog.DiscardHandler)
)

// store opens a store in a schema of its own on the shared server.
func store(t *testing.T) *Provider {
	t.Helper()
	url := postgrestest.URL(t)
	return opened(t, url, Options{Schema: postgrestest.Schema(t, url)})
}

// opened opens a store with a pool of its own. Its connections are prepared when they are needed, which halves the CPU time of
// most tests.
func opened(t *testing.T, url string, o Options) *Provider {
	t.Helper()
	o.unprimed = true
	return openedWith(t, url, o)
}

// openedWith is opened for a store that prepares its connections as a program's does.
func openedWith(t *testing.T, url string, o Options) *Provider {
	t.Helper()
	o.Logger = quietly(o.Logger)
	p, err := OpenWith(t.Context(), url+"&pool_max_conns=4", o)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	return p
}

// impatient opens a store whose timeout is a second or two. A busy server may take longer for a call of the opening, so that
// the opening is repeated until it succeeds.
func impatient(t *testing.T, url string, o Options) (p *Provider) {
	t.Helper()
	o.unprimed, o.Logger = true, quietly(o.Logger)
	eventually(t, "the store is opened", func() bool {
		var err error
		if p, err = OpenWith(t.Context(), url+"&pool_max_conns=4", o); err != nil && !provider.Retryable(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	closeAtEnd(t, p)
	return p
}

func quietly(l *slog.Logger) *slog.Logger {
	if l == nil {
		return silent
	}
	return l
}

func closeAtEnd(t *testing.T, p *Provider) {
	t.Helper()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// pool makes a pool with a changed configuration.
func pool(t *testing.T, url string, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	made, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func withoutCancel(t *testing.T) context.Context {
	t.Helper()
	return context.WithoutCancel(t.Context())
}

func unique() (u provider.UUID) {
	_, _ = rand.Read(u[:]) // never fails
	return u
}

func text(s string) provider.NewMessage { return provider.NewMessage{Kind: 7, Payload: []byte(s)} }

func createRequest(id string) provider.CreateRequest {
	return provider.CreateRequest{ID: id, Key: unique(), Commit: unique(), Name: "orc", CodeVersion: "v1", Message: text("start")}
}

func create(t *testing.T, p *Provider, id string) provider.Instance {
	t.Helper()
	res, err := p.Create(t.Context(), createRequest(id))
	if err != nil {
		t.Fatal(err)
	}
	return res.Instance
}

// createSoon is create for a store of [impatient]: the same request is repeated until the store answers.
func createSoon(t *testing.T, p *Provider, id string) (in provider.Instance) {
	t.Helper()
	req := createRequest(id)
	eventually(t, "the instance is stored", func() bool {
		res, err := p.Create(t.Context(), req)
		if err != nil && !provider.Retryable(err) {
			t.Fatal(err)
		}
		in = res.Instance
		return err == nil
	})
	return in
}

func get(t *testing.T, p *Provider, key provider.UUID) provider.Instance {
	t.Helper()
	res, err := p.Get(t.Context(), provider.GetRequest{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return res.Instance
}

// turn returns a commit on top of what is stored.
func turn(in *provider.Instance, consumed ...int64) provider.CommitTurnRequest {
	return provider.CommitTurnRequest{
		Key: in.Key, Execution: in.Execution, Expected: in.Version, Length: in.HistoryLength, Commit: unique(),
		Status: provider.StatusRunning, Consumed: consumed,
	}
}

func commit(t *testing.T, p *Provider, req provider.CommitTurnRequest) provider.CommitTurnResult {
	t.Helper()
	res, err := p.CommitTurn(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func send(t *testing.T, p *Provider, key provider.UUID, m provider.NewMessage) provider.SendResult {
	t.Helper()
	res, err := p.Send(t.Context(), provider.SendRequest{Key: key, Message: m})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func turnsRequest() provider.FetchTurnsRequest {
	return provider.FetchTurnsRequest{Owner: "node", Token: unique(), Lease: lease, Capabilities: orc, Max: 10}
}

func tasksRequest() provider.FetchTasksRequest {
	return provider.FetchTasksRequest{Owner: "node", Token: unique(), Lease: lease, Queues: queue, Max: 10}
}

func fetchTurns(t *testing.T, p *Provider, req provider.FetchTurnsRequest) []provider.Turn {
	t.Helper()
	res, err := p.FetchTurns(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res.Turns
}

// exec runs SQL in the store's schema.
func exec(t *testing.T, p *Provider, sql string, args ...any) {
	t.Helper()
	if _, err := p.db.pool.Exec(t.Context(), p.db.names.sql(sql), args...); err != nil {
		t.Fatal(err)
	}
}

// number reads one number by SQL in the store's schema.
func number(t *testing.T, p *Provider, sql string, args ...any) (n int64) {
	t.Helper()
	if err := p.db.pool.QueryRow(t.Context(), p.db.names.sql(sql), args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// hold locks an instance as a transaction of the user would, until the returned function is called.
func hold(t *testing.T, p *Provider, key provider.UUID) (release func()) {
	t.Helper()
	tx, err := p.db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), p.db.names.sql(`SELECT 1 FROM perdure.instance WHERE key = $1 FOR UPDATE`), uuid(key)); err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	return release
}

// The calls of a test as members of one group.

func memberOf[T any](op string, needs relational.Needs, fn func(*relational.Tx, *T) error) *relational.Member {
	return &relational.Member{Op: op, Needs: needs, Done: make(chan struct{}), Run: func(t *relational.Tx) error { return fn(t, new(T)) }}
}

func memberCommit(req provider.CommitTurnRequest) *relational.Member {
	return memberOf("commit turn", relational.CommitNeeds(&req),
		func(t *relational.Tx, res *provider.CommitTurnResult) error { return t.CommitTurn(&req, res) })
}

func memberSend(key provider.UUID, message provider.NewMessage) *relational.Member {
	req := provider.SendRequest{Key: key, Message: message}
	return memberOf("send", relational.NamedNeeds("", key),
		func(t *relational.Tx, res *provider.SendResult) error { return t.Send(&req, res) })
}

func memberCreate(req provider.CreateRequest) *relational.Member {
	return memberOf("create", relational.CreateNeeds(&req),
		func(t *relational.Tx, res *provider.CreateResult) error { return t.Create(&req, res) })
}

// grouped runs members in one transaction, and alone those that it could not take. It returns their errors.
func grouped(p *Provider, members ...*relational.Member) []error {
	var alone sync.WaitGroup
	for _, m := range p.group.runGroup(p.db.pool, members) {
		alone.Go(func() { p.group.runOwnTx(p.db.pool, m) })
	}
	alone.Wait()
	errs := make([]error, len(members))
	for i, m := range members {
		<-m.Done
		errs[i] = m.Err
	}
	return errs
}

// wantErrors compares the errors of the members of a group.
func wantErrors(t *testing.T, got []error, want ...error) {
	t.Helper()
	for i := range want {
		if !errors.Is(got[i], want[i]) {
			t.Errorf("member %d: got %v, want %v", i, got[i], want[i])
		}
	}
}
