package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func perdureProduct() product {
	return product{
		name: "perdure", module: "github.com/perdure/perdure", open: openPerdure,
		notes: map[string]string{
			kindSQLite:   "all defaults (synchronous=FULL)",
			kindPostgres: "all defaults",
		},
	}
}

type perdureSystem struct {
	store  provider.Provider
	client *client.Client
	stored string
}

func openPerdure(ctx context.Context, s store) (system, error) {
	p := &perdureSystem{}
	var err error
	switch s.Kind {
	case kindSQLite:
		p.stored = "sqlite.Open: synchronous=FULL"
		p.store, err = sqlite.OpenWith(s.Address, sqlite.Options{Logger: logger()})
	default:
		p.stored = "postgres.Open"
		p.store, err = postgres.OpenWith(ctx, s.Address, postgres.Options{Logger: logger()})
	}
	if err != nil {
		return nil, err
	}
	reg := runtime.NewRegistry()
	err = errors.Join(
		runtime.AddOrchestration(reg, perdureChain), runtime.AddOrchestration(reg, perdureFan),
		runtime.AddOrchestration(reg, perdureSleep), runtime.AddOrchestration(reg, perdureListen),
		runtime.AddActivity(reg, noop),
	)
	if err != nil {
		return nil, err
	}
	rt, err := runtime.Start(ctx, p.store, reg, runtime.Options{Logger: logger()})
	if err != nil {
		return nil, err
	}
	p.client, err = rt.Client(client.Options{Logger: logger()})
	return p, err
}

func (p *perdureSystem) Settings(context.Context) []string {
	return []string{p.stored, "runtime.Options{}"}
}

func (p *perdureSystem) Start(ctx context.Context, what program, n int) (instance, error) {
	fn := map[program]func(*orchestration.Context, int) (int, error){
		chain: perdureChain, fan: perdureFan, sleep: perdureSleep, listen: perdureListen,
	}[what]
	h, err := client.Start(ctx, p.client, fn, n)
	return perdureInstance{h, n}, err
}

type perdureInstance struct {
	handle client.Handle[int]
	want   int
}

func (i perdureInstance) Wait(ctx context.Context) error {
	got, err := i.handle.Wait(ctx)
	if err != nil {
		return err
	}
	return expect(got, i.want)
}

func (i perdureInstance) WaitAsDocumented(ctx context.Context) error { return i.Wait(ctx) }

func (i perdureInstance) Send(ctx context.Context, event Reply) error {
	return i.handle.Raise(ctx, eventName, event)
}

// expect returns an error if an orchestration has the wrong output.
func expect(got, want int) error {
	if got != want {
		return fmt.Errorf("an orchestration returned %d, want %d", got, want)
	}
	return nil
}

// noop is the activity of perdure and go-workflows.
func noop(context.Context, int) (Reply, error) { return reply(), nil }

func perdureChain(ctx *orchestration.Context, n int) (int, error) {
	for i := range n {
		if _, err := orchestration.CallActivity(ctx, noop, i); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func perdureFan(ctx *orchestration.Context, n int) (int, error) {
	futures := make([]orchestration.Future[Reply], n)
	for i := range futures {
		futures[i] = orchestration.StartActivity(ctx, noop, i)
	}
	_, err := orchestration.All(ctx, futures...)
	return n, err
}

func perdureSleep(ctx *orchestration.Context, n int) (int, error) {
	pause := time.Duration(n) * time.Millisecond
	due := ctx.Now().Add(pause)
	if err := ctx.Sleep(pause); err != nil {
		return 0, err
	}
	wakes.add(due)
	return n, nil
}

func perdureListen(ctx *orchestration.Context, n int) (int, error) {
	events := orchestration.Events[Reply](ctx, eventName)
	for range n {
		if _, err := events.Receive(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}
