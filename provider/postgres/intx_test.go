package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// begin begins a transaction of a program, which is rolled back in the end.
func begin(t *testing.T, p *pgxpool.Pool, o pgx.TxOptions) pgx.Tx {
	t.Helper()
	tx, err := p.BeginTx(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(withoutCancel(t)); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Error(err)
		}
	})
	return tx
}

// startIn starts instances in transactions of a program that commits, until a fetch gets one before it polls.
func startIn(t *testing.T, p *Provider) {
	t.Helper()
	inSomeRound(t, func() error {
		fetched, began := fetchLater(t, p), time.Now()
		tx := begin(t, p.db.pool, pgx.TxOptions{})
		_, err := p.CreateIn(t.Context(), InTx(tx), createRequest(unique().String()))
		if err := errors.Join(err, tx.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		<-fetched
		if took := time.Since(began); took > fallback/2 {
			return fmt.Errorf("the fetch has heard of the commit after %v", took)
		}
		return nil
	})
}

// The store finds out which transactions are over, however fast programs add new ones.
func TestCommitsAreSeenAmongManyCalls(t *testing.T) {
	t.Parallel()
	p := store(t)
	long := begin(t, p.db.pool, pgx.TxOptions{})
	var id string
	if err := long.QueryRow(t.Context(), sqlTxID).Scan(&id); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				p.pending.add(id, relational.NewEffects())
			}
		}
	}()
	startIn(t, p)
	close(stop)
	<-stopped
}

// A transaction whose ID the server lost in a crash hides no other one.
func TestCommitIsSeenBesideALostTransaction(t *testing.T) {
	t.Parallel()
	p := store(t)
	for id := range 1000 {
		p.pending.add(fmt.Sprint(1_000_000_000_000+id), relational.NewEffects())
	}
	startIn(t, p)
}

// A program may use any exec mode of pgx.
func TestTransactionsOfEveryQueryMode(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	p := opened(t, url, Options{Schema: postgrestest.Schema(t, url)})
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		own := pool(t, url, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
		tx := begin(t, own, pgx.TxOptions{})
		created, err := p.CreateIn(t.Context(), InTx(tx), createRequest(mode.String()))
		if err == nil {
			_, err = p.SendIn(t.Context(), InTx(tx), provider.SendRequest{Key: created.Instance.Key, Message: text("a")})
		}
		if err := errors.Join(err, tx.Commit(t.Context())); err != nil {
			t.Errorf("%v: %v", mode, err)
			continue
		}
		if got := get(t, p, created.Instance.Key); got.InboxMessages != 2 {
			t.Errorf("%v: %d messages wait", mode, got.InboxMessages)
		}
	}
}

func TestTransactionsOfEverySchemaName(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	for _, name := range []string{"it's", `a "quoted" one`, "Ünïcode"} {
		p := opened(t, url, Options{Schema: postgrestest.Schema(t, url) + name})
		tx := begin(t, p.db.pool, pgx.TxOptions{})
		_, err := p.CreateIn(t.Context(), InTx(tx), createRequest("i"))
		if err := errors.Join(err, tx.Rollback(t.Context())); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		exec(t, p, `DROP SCHEMA `+pgx.Identifier{p.db.opts.Schema}.Sanitize()+` CASCADE`)
	}
}

// At a stricter isolation level a call fails for what tx cannot see, and tx stays usable.
func TestStrictTransactions(t *testing.T) {
	t.Parallel()
	p := store(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		i := create(t, p, "before "+string(level))
		tx := begin(t, p.db.pool, pgx.TxOptions{IsoLevel: level})
		if _, err := tx.Exec(t.Context(), `SELECT 1 FROM pg_class`); err != nil { // it sees nothing later from here on
			t.Fatal(err)
		}
		send(t, p, i.Key, text("a"))
		taken := create(t, p, "since "+string(level))
		fresh := createRequest("new " + string(level))
		fresh.Name = "a kind that nobody has seen " + string(level)
		if _, err := p.CreateIn(t.Context(), InTx(tx), fresh); err != nil {
			t.Errorf("%s: a new kind: %v", level, err)
		}
		if _, err := p.CreateIn(t.Context(), InTx(tx), createRequest(taken.ID)); err == nil || !provider.Retryable(err) {
			t.Errorf("%s: an ID that was taken since: %v", level, err)
		}
		if _, err := p.SendIn(t.Context(), InTx(tx), provider.SendRequest{Key: i.Key, Message: text("b")}); err == nil || !provider.Retryable(err) {
			t.Errorf("%s: an instance that was changed since: %v", level, err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Errorf("%s: %v", level, err)
		}
		if _, err := p.Get(t.Context(), provider.GetRequest{ID: fresh.ID}); err != nil {
			t.Errorf("%s: %v", level, err)
		}
	}
}
