package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/perdure/perdure/provider"
)

// The place of the record.
const (
	space = "perdure/control"
	key   = "orders"
)

// MaxOrders bounds the paused queues, and the nodes that drain, of a store.
const MaxOrders = 1_000

// ErrTooMany means that the store has too many orders to take another.
var ErrTooMany = errors.New("too many orders")

// Order is what somebody has ordered.
type Order struct {
	Reason string        `json:"reason,omitempty"`
	By     string        `json:"by,omitempty"` // a principal; "": the embedding service
	At     provider.Time `json:"at"`           // by the storage's clock; earlier releases wrote that of the caller
}

// Orders are all orders of a store.
type Orders struct {
	Paused  map[string]Order `json:"paused,omitempty"`  // by queue
	Drained map[string]Order `json:"drained,omitempty"` // by owner of the node

	Version int64         `json:"-"` // of the record; 0: there is none
	Now     provider.Time `json:"-"` // when it was read, 0 if there is no record
}

// Read returns the orders of a store. A store without records returns an error that wraps errors.ErrUnsupported.
func Read(ctx context.Context, store provider.Keeper) (Orders, error) {
	o := Orders{}
	res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: space, Key: key})
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return o, nil
	case err != nil:
		return o, fmt.Errorf("reading the orders to nodes: %w", err)
	}
	if err := json.Unmarshal(res.Records[0].Value, &o); err != nil {
		return o, fmt.Errorf("reading the orders to nodes: %w", err)
	}
	o.Version, o.Now = res.Records[0].Version, res.Now
	return o, nil
}

// tries is how often Change writes when other writers come first.
const tries = 20

// Change reads the orders, changes them and writes them, unless nothing has changed. It returns what is stored then. It
// succeeds again when it is repeated. In change, Now is the storage's time.
func Change(ctx context.Context, store provider.Keeper, change func(o *Orders)) (Orders, error) {
	for n := 0; ; n++ {
		o, err := Read(ctx, store)
		if err != nil {
			return o, err
		}
		if o.Now == 0 {
			if o.Now, err = now(ctx, store); err != nil {
				return o, err
			}
		}
		before := Orders{Paused: maps.Clone(o.Paused), Drained: maps.Clone(o.Drained)}
		change(&o)
		if maps.Equal(before.Paused, o.Paused) && maps.Equal(before.Drained, o.Drained) {
			return o, nil
		}
		if len(o.Paused) > MaxOrders || len(o.Drained) > MaxOrders {
			return o, fmt.Errorf("%w: %d queues are paused and %d nodes drain: at most %d each fit; resume some",
				ErrTooMany, len(before.Paused), len(before.Drained), MaxOrders)
		}
		value, err := json.Marshal(o)
		if err != nil {
			return o, fmt.Errorf("writing the orders to nodes: %w", err)
		}
		_, err = store.Record(ctx, provider.RecordRequest{Action: provider.RecordPut, Namespace: space, Key: key, Value: value, Expect: o.Version})
		if errors.Is(err, provider.ErrConflict) && n < tries {
			continue
		}
		if err != nil {
			return o, fmt.Errorf("writing the orders to nodes: %w", err)
		}
		o.Version++
		return o, nil
	}
}

// now returns the storage's time.
func now(ctx context.Context, store provider.Keeper) (provider.Time, error) {
	res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Max: 1})
	if err != nil {
		return 0, fmt.Errorf("asking for the storage's time: %w", err)
	}
	return res.Now, nil
}

// Pause pauses a queue as of Now. A queue that is paused keeps its first order.
func (o *Orders) Pause(queue string, by Order) {
	if _, paused := o.Paused[queue]; paused {
		return
	}
	if o.Paused == nil {
		o.Paused = make(map[string]Order)
	}
	by.At = o.Now
	o.Paused[queue] = by
}

// Drain drains a node as of Now. A node that drains keeps its first order. Orders to other nodes go unless alive reports that they are in the list.
func (o *Orders) Drain(owner string, by Order, alive func(owner string) bool) {
	maps.DeleteFunc(o.Drained, func(owner string, _ Order) bool { return !alive(owner) })
	if _, drained := o.Drained[owner]; drained {
		return
	}
	if o.Drained == nil {
		o.Drained = make(map[string]Order)
	}
	by.At = o.Now
	o.Drained[owner] = by
}
