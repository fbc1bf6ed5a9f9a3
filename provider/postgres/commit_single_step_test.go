package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// within waits until a condition of the database holds.
func within(t *testing.T, p *Provider, condition string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if number(t, p, `SELECT (`+condition+`)::int`) == 1 {
			return
		}
	}
	t.Fatalf("not within 10 s: %s", condition)
}

// A caller that gives up while the storage writes its single step returns at once, and does not know the outcome. The
// step is stored, and its connection stays open.
func TestCallerOfASingleStepMayGiveUp(t *testing.T) {
	p := store(t)
	const gate = 4711
	exec(t, p, `CREATE FUNCTION perdure.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		WHILE NOT pg_try_advisory_xact_lock(`+fmt.Sprint(gate)+`) LOOP PERFORM pg_sleep(0.002); END LOOP; RETURN NEW; END $$`)
	exec(t, p, `CREATE TRIGGER held BEFORE INSERT ON perdure.history FOR EACH ROW EXECUTE FUNCTION perdure.held()`)
	holder, err := p.db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release()
	inSomeRound(t, func() error { return givesUpASingleStep(t, p, holder, gate) })
}

// givesUpASingleStep returns an error if the commit was no single step: one is none beside a group that is in flight, nor where a busy
// machine leaves the clock uncertain.
func givesUpASingleStep(t *testing.T, p *Provider, holder *pgxpool.Conn, gate int) error {
	t.Helper()
	next := begun(t, p, unique().String())
	if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, gate); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	gone := make(chan error, 1)
	go func() {
		_, err := p.CommitTurn(ctx, next)
		gone <- err
	}()
	const held = `FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE `
	within(t, p, `SELECT count(*) = 1 `+held+`'%"`+p.db.opts.Schema+`"%'`)
	open := func() {
		if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_unlock($1)`, gate); err != nil {
			t.Fatal(err)
		}
	}
	if number(t, p, `SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'WITH step%"`+p.db.opts.Schema+`"%' AND state = 'active'`) != 1 {
		open()
		return errors.Join(errors.New("the commit was no single step"), <-gone)
	}
	before := p.db.pool.Stat().TotalConns()
	giveUp()
	select {
	case err := <-gone:
		if provider.OutcomeOf(err) != provider.OutcomeUnknown {
			t.Errorf("the call returns %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the caller waits on")
	}
	open()
	within(t, p, `SELECT count(*) = 1 FROM `+p.db.names.prefix+`instance WHERE key = '`+next.Key.String()+`' AND history_length = 3`)
	send(t, p, next.Key, text("after")) // it waits for the step, whose instance it needs
	if after := p.db.pool.Stat().TotalConns(); after < before {
		t.Errorf("%d connections are left of %d", after, before)
	}
	return nil
}

// A call that waits for the end of an instance gets its stored row, although nobody read it.
func TestWaitersAreHandedRowsThatNobodyRead(t *testing.T) {
	p := store(t)
	observer := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	created := func() provider.CommitTurnRequest { return begun(t, p, unique().String()) }
	fetched := func() provider.CommitTurnRequest {
		create(t, observer, unique().String())
		_, next := nextTurn(t, p)
		return next
	}
	for i, next := range []provider.CommitTurnRequest{created(), created(), fetched(), fetched()} {
		next.Status, next.Result = provider.StatusCompleted, []byte([]string{"", "done"}[i%2])
		type outcome struct {
			res provider.GetResult
			err error
		}
		answered := make(chan outcome, 1)
		go func() {
			res, err := p.Get(t.Context(), provider.GetRequest{Key: next.Key, WaitEnded: true, Wait: time.Minute})
			answered <- outcome{res, err}
		}()
		for !p.hub.Watched(next.Key) {
			runtime.Gosched()
		}
		if p.cache.heads[next.Key].own == nil {
			t.Fatal("the row is not known")
		}
		commit(t, p, next)
		got := <-answered
		if want := get(t, observer, next.Key); got.err != nil || !reflect.DeepEqual(got.res.Instance, want) {
			t.Errorf("handed, %v:\n%+v\nstored:\n%+v", got.err, got.res.Instance, want)
		}
	}
}

// Functions of callers run on connections of the store's own pool, and still have their statements planned by the
// database's settings.
func TestFunctionsHaveTheirOwnPlans(t *testing.T) {
	p := store(t)
	next := begun(t, p, "i")
	report := provider.TaskReport{
		TaskRef: provider.TaskRef{Key: next.Key, Execution: 1, EventID: 2}, Token: next.Completes[0].Token, Attempt: 1,
		Outcome: provider.TaskComplete, Message: text("done"),
	}
	settings := `SELECT current_setting('enable_seqscan') || current_setting('jit') || current_setting('plan_cache_mode')`
	var inside string
	if _, err := p.CompleteIn(t.Context(), report, func(tx provider.Tx) error {
		return tx.Of.(userTx).Tx.QueryRow(t.Context(), settings).Scan(&inside)
	}); err != nil {
		t.Fatal(err)
	}
	var own, server string
	if err := p.db.pool.QueryRow(t.Context(), settings).Scan(&own); err != nil {
		t.Fatal(err)
	}
	if err := p.db.reserve.QueryRow(t.Context(), settings).Scan(&server); err != nil {
		t.Fatal(err)
	}
	if inside != server || own == server {
		t.Errorf("functions have %s, the pool %s, the server %s", inside, own, server)
	}
}
