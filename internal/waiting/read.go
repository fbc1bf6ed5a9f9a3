package waiting

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// RateSpace has the records of rates, by queue.
const RateSpace = "perdure.rate"

// Rate reads a record of a rate: the moment at which the next activity of the queue may begin; 0: it cannot be read.
func Rate(value []byte) provider.Time {
	if len(value) != 8 {
		return 0
	}
	return provider.Time(binary.BigEndian.Uint64(value))
}

// Read reads the facts of a store. A store without records returns an error that wraps errors.ErrUnsupported.
func Read(ctx context.Context, store provider.Keeper) (f Facts, err error) {
	if f.Nodes, f.Now, err = upgrade.Nodes(ctx, store); err != nil {
		return f, err
	}
	return f, f.readMore(ctx, store)
}

// readMore reads the orders, and the rates of queues that nodes serve at one.
func (f *Facts) readMore(ctx context.Context, store provider.Keeper) (err error) {
	if f.Orders, err = control.Read(ctx, store); err != nil {
		return err
	}
	for _, queue := range f.Rated() {
		res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: RateSpace, Key: queue})
		switch {
		case errors.Is(err, provider.ErrNotFound):
			continue
		case err != nil:
			return fmt.Errorf("reading the rate of queue %q: %w", queue, err)
		}
		if f.Rates == nil {
			f.Rates = make(map[string]provider.Time)
		}
		f.Rates[queue], f.Now = Rate(res.Records[0].Value), max(f.Now, res.Now)
	}
	return nil
}
