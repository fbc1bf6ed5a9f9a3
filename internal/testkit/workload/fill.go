package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// copies is the code version of the instances that fill creates. No node runs it.
const copies = "finished"

const (
	fillers   = 64  // goroutines that create, and as many that commit
	fillBatch = 200 // instances per fetch
	fillLease = time.Minute
	fillWait  = 100 * time.Millisecond
)

// fill prepares W8. It copies an instance that ran until the store has enough finished instances.
//
// Each copy is created, fetched and ended with the whole history of five activities in one commit, so a million
// take minutes.
func fill(ctx context.Context, n *Node, s Size) error {
	there, err := n.Store.Count(ctx, provider.CountRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusCompleted}}})
	if err != nil {
		return fmt.Errorf("counting finished instances: %w", err)
	}
	missing := s.Finished - int(there.Count) - 1 // the original counts, too
	if missing < 0 {
		return nil
	}
	o, err := runOriginal(ctx, n)
	if err != nil {
		return err
	}
	turns := make(chan filled, fillBatch)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return o.create(ctx, n.Store, missing) })
	group.Go(func() error {
		defer close(turns)
		return o.fetch(ctx, n.Store, missing, turns)
	})
	for range fillers {
		group.Go(func() error {
			for t := range turns {
				if err := o.commit(ctx, n.Store, t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("filling the store: %w", err)
	}
	return nil
}

// original is the instance that fill copies.
type original struct {
	instance provider.Instance
	events   [][]byte
}

// filled is a turn that fill has leased.
type filled struct {
	provider.Turn
	lease provider.UUID
}

// runOriginal runs a W1 orchestration and reads its stored form.
func runOriginal(ctx context.Context, n *Node) (o original, err error) {
	h, err := client.Start(ctx, n.Client, Chain, Load{N: links})
	if err == nil {
		_, err = finish(ctx, h)
	}
	if err != nil {
		return o, err
	}
	got, err := n.Store.Get(ctx, provider.GetRequest{Key: h.Key()})
	if err != nil {
		return o, fmt.Errorf("reading an instance: %w", err)
	}
	o.instance = got.Instance
	history, err := n.Store.ReadHistory(ctx, provider.ReadHistoryRequest{Key: h.Key(), Execution: 1, From: 1, To: o.instance.HistoryLength})
	if err != nil {
		return o, fmt.Errorf("reading a history: %w", err)
	}
	for _, e := range history.Events {
		o.events = append(o.events, e.Data)
	}
	return o, nil
}

func newID() provider.UUID { return provider.UUID(uuid.New()) }

func (o original) create(ctx context.Context, store provider.Provider, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fillers)
	for range count {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			id := uuid.Must(uuid.NewV7()).String() // as a client does
			_, err := store.Create(ctx, provider.CreateRequest{
				ID: id, Key: provider.NewKey(id), Commit: newID(), Name: o.instance.Name, CodeVersion: copies, EngineLevel: o.instance.EngineLevel,
				Message: provider.NewMessage{Payload: o.events[0]},
			})
			return err
		})
	}
	return group.Wait()
}

func (o original) fetch(ctx context.Context, store provider.Provider, count int, turns chan<- filled) error {
	for count > 0 {
		lease := newID()
		res, err := store.FetchTurns(ctx, provider.FetchTurnsRequest{
			Owner: "filler", Token: lease, Lease: fillLease, Max: fillBatch, Wait: fillWait, EngineLevel: o.instance.EngineLevel,
			Capabilities: []provider.Capability{{Name: o.instance.Name, CodeVersion: copies}},
		})
		if err != nil {
			return err
		}
		count -= len(res.Turns)
		for _, t := range res.Turns {
			select {
			case turns <- filled{t, lease}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (o original) commit(ctx context.Context, store provider.Provider, t filled) error {
	_, err := store.CommitTurn(ctx, provider.CommitTurnRequest{
		Key: t.Instance.Key, Execution: t.Instance.Execution, Expected: t.Instance.Version, Length: t.Instance.HistoryLength,
		Commit: newID(), Lease: t.lease, Consumed: []int64{t.Messages[0].ID}, Events: o.events,
		Status: provider.StatusCompleted, Result: o.instance.Result,
	})
	return err
}
