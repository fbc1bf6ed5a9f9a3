package client_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// recorded counts the calls of Record, and takes part in transactions.
type recorded struct {
	*provider.Full

	calls atomic.Int64
	fail  atomic.Bool
}

func (r *recorded) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	r.calls.Add(1)
	if r.fail.Load() {
		return provider.RecordResult{}, errors.New("the record cannot be read")
	}
	return r.Full.Record(ctx, req)
}

func (r *recorded) CreateIn(ctx context.Context, _ provider.Tx, req provider.CreateRequest) (provider.CreateResult, error) {
	return r.Create(ctx, req)
}

func (r *recorded) SendIn(ctx context.Context, _ provider.Tx, req provider.SendRequest) (provider.SendResult, error) {
	return r.Send(ctx, req)
}

func (r *recorded) CompleteIn(context.Context, provider.TaskReport, func(provider.Tx) error) (res provider.TaskReportResult, err error) {
	return res, errors.ErrUnsupported
}

// A client reads the level of the store on its first start that is not inside a transaction of the caller, and once a
// minute at most. A start inside a transaction reads nothing, since the caller may hold the only connection. The client
// writes no record, and starts without it.
func TestStartReadsTheLevelOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &recorded{Full: provider.FullOf(memory.New(memory.Options{}))}
		defer func() { _ = store.Close() }()
		c := clienttest.New(t, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
		client.OfLevel(c, replay.EngineLevel+1)
		starts := func(what string, want int64, opts ...client.StartOption) {
			t.Helper()
			before := store.calls.Load()
			for range 3 {
				if _, err := client.Start(t.Context(), c, Checkout, order{}, opts...); err != nil {
					t.Fatal(err)
				}
			}
			if got := store.calls.Load() - before; got != want {
				t.Errorf("%s: %d calls of Record, want %d", what, got, want)
			}
		}
		tx := provider.Tx{}
		starts("in a transaction, first", 0, tx)
		store.fail.Store(true)
		starts("the record cannot be read", 1)
		store.fail.Store(false)
		time.Sleep(59 * time.Second) //nolint:forbidigo // in a bubble
		starts("within a minute", 0)
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble
		starts("in a transaction, after a minute", 0, tx)
		starts("after a minute", 1)
		res, err := store.Full.Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure"})
		if err != nil || len(res.Records) != 0 {
			t.Errorf("the client wrote %d records, %v", len(res.Records), err)
		}
	})
}
