package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// holdAlways holds the row of an instance by transactions of a program that wait for each other, so that it is never free, until the
// returned function is called. When holdAlways returns, one of them has the row.
func holdAlways(t *testing.T, p *Provider, key provider.UUID) (stop func()) {
	t.Helper()
	const transactions, held = 2, 40 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var holding sync.WaitGroup
	began := make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	for range transactions {
		holding.Go(func() {
			for ctx.Err() == nil {
				if err := holdFor(ctx, p, key, held, begin); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	<-began
	return func() {
		cancel()
		holding.Wait()
	}
}

// holdFor holds a row for a while, and calls begun when it has it.
func holdFor(ctx context.Context, p *Provider, key provider.UUID, d time.Duration, begun func()) error {
	tx, err := p.db.pool.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, p.db.names.sql(`SELECT 1 FROM perdure.instance WHERE key = $1 FOR UPDATE`), uuid(key))
	begun()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
}

// A call gets the row that transactions of a program hold one after the other, so that it is never free.
func TestHazard99_CallGetsAHeldRow(t *testing.T) {
	t.Parallel()
	p := store(t)
	program := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema}) // its pool is not the store's
	for range longtest.Pick(2, 10) {
		in := create(t, p, unique().String())
		stop := holdAlways(t, program, in.Key)
		began := time.Now()
		_, err := p.Steer(t.Context(), provider.SteerRequest{Key: in.Key, Action: provider.SteerTerminate, Commit: unique()})
		if took := time.Since(began); err != nil || took > 2*time.Second {
			t.Errorf("the instance was terminated after %v, %v", took, err)
		}
		stop()
	}
	checkConsistent(t, p)
}

// A program holds all connections of the pool that it shares with the store, and the rows of the instances whose tasks are renewed.
func TestHazard99_RenewalsPassHeldRowsAndAFullPool(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	const tasks = 4
	shared := pool(t, url, func(c *pgxpool.Config) { c.MaxConns = tasks })
	p, err := NewWith(t.Context(), shared, Options{Schema: postgrestest.Schema(t, url), Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	req := provider.RenewTasksRequest{Lease: lease}
	for range tasks {
		token := unique()
		in := instanceWith(t, p, unique().String(), provider.NewTask{Lease: &provider.TaskLease{Token: token, Owner: "node", Duration: lease}})
		req.Items = append(req.Items, provider.TaskRenewal{TaskRef: provider.TaskRef{Key: in.Key, Execution: 1, EventID: 1}, Token: token})
	}
	for i := range req.Items {
		hold(t, p, req.Items[i].Key)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for range 3 {
		res, err := p.RenewTasks(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range res.Items {
			if item.Err != nil {
				t.Error(item.Err)
			}
		}
	}
}
