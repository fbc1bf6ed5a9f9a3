package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// reads counts the calls of the store.
type reads struct {
	provider.Provider

	gets []provider.GetRequest
}

func (r *reads) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	r.gets = append(r.gets, req)
	return r.Provider.Get(ctx, req)
}

// StatusOf and Value each make one read, which asks for nothing else. No node need live.
func TestStateIsOneRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, client.Options{})
	key := w.Start(client.WithID("a")).Key()
	w.Commit(key, func(req *provider.CommitTurnRequest) {
		req.CustomStatus = []byte("7")
		req.Values = []provider.KeyValue{{Key: "k", Value: []byte("8")}, {Key: "other", Value: []byte("9")}}
	})
	store := &reads{Provider: w.store}
	h := client.HandleOf[receipt](clienttest.New(t, store, client.Options{}), "a", key)
	status, err := client.StatusOf[int](t.Context(), h)
	value, valueErr := client.Value[int](t.Context(), h, "k")
	if status != 7 || value != 8 || errors.Join(err, valueErr) != nil {
		t.Errorf("read %d and %d: %v, %v", status, value, err, valueErr)
	}
	want := fmt.Sprint([]provider.GetRequest{{Key: key}, {Key: key, Value: "k"}})
	if got := fmt.Sprint(store.gets); got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

func TestStateErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, client.Options{})
	w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Get}, Every: 2, Kind: faulty.Before})
	h := w.Start()
	read := func(h client.Handle[receipt], key string) error {
		if key == "" {
			_, err := client.StatusOf[int](t.Context(), h)
			return err
		}
		_, err := client.Value[int](t.Context(), h, key)
		return err
	}
	check := func(name string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	check("no status", read(h, ""), client.ErrNotSet)
	check("no value", read(h, "k"), client.ErrNotSet)
	w.Commit(h.Key(), func(req *provider.CommitTurnRequest) {
		req.CustomStatus = payload.Refusal("too large")
		req.Values = []provider.KeyValue{
			{Key: "refused", Value: payload.Refusal("why")}, {Key: "text", Value: []byte(`"x"`)}, {Key: "empty", Value: []byte{}},
		}
	})
	check("a status that was refused", read(h, ""), client.ErrNotStored)
	check("a value that was refused", read(h, "refused"), client.ErrNotStored)
	check("another type", read(h, "text"), orchestration.ErrPayload)
	check("an empty value", read(h, "empty"), client.ErrNotSet)
	check("a bad key", read(h, "\x00"), client.ErrInvalid)
	check("a zero handle", read(client.Handle[receipt]{}, ""), client.ErrInvalid)
	check("no instance", read(client.HandleOf[receipt](w.Client, "x", provider.NewKey("x")), "k"), client.ErrNotFound)
}
