package orchestrationtest_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

func withCodec(c codec.Codec) orchestrationtest.Option {
	return orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Codec = c })
}

func aes(t *testing.T) codec.Codec {
	t.Helper()
	c, err := codec.AES(codec.Key{ID: "k", Bytes: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// guarded answers a query, calls an activity and waits for an event.
func guarded(ctx *orchestration.Context, in string) (string, error) {
	state := "begun " + in
	orchestration.HandleQuery(ctx, "state", func(string) (string, error) { return state, nil })
	ctx.SetStatus(state)
	first, err := orchestration.CallActivity(ctx, lengthen, in)
	if err != nil {
		return "", err
	}
	state = "lengthened " + first
	second, err := orchestration.Events[string](ctx, "more").Receive(ctx)
	return first + second, err
}

func lengthen(_ context.Context, in string) (string, error) { return in + "!", nil }

// playGuarded runs guarded to its end.
func playGuarded(t *testing.T, e *orchestrationtest.Env) {
	t.Helper()
	orchestrationtest.Replace(e, lengthen, func(_ context.Context, in string) (string, error) { return in + "?", nil })
	h := orchestrationtest.Start(e, guarded, "secret")
	e.Sleep(time.Hour)
	if got, err := client.Query[string](e.Context(), h.Handle, "state", ""); err != nil || got != "lengthened secret?" {
		t.Errorf("%q, %v", got, err)
	}
	if err := h.Raise(e.Context(), "more", "more"); err != nil {
		t.Error(err)
	}
	if got, err := h.Wait(e.Context()); err != nil || got != "secret?more" {
		t.Errorf("%q, %v", got, err)
	}
	if all := e.History(h); string(all[0].Input) != `"secret"` || all[0].EncryptedWith != "" {
		t.Errorf("%+v", all[0])
	}
}

// A service with a codec is tested as one without: the checks read through the codec of the nodes, whatever the client of the test has.
func TestCodec(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		playGuarded(t, e)
		h := orchestrationtest.Start(e, guarded, "killed")
		e.Sleep(time.Minute)
		e.Kill()
		e.After(time.Hour, func() error { return h.Raise(e.Context(), "more", "") })
		if got, err := h.Wait(e.Context()); err != nil || got != "killed?" {
			t.Errorf("%q, %v", got, err)
		}
	}, withCodec(aes(t)))
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, lengthen, nil)
		h := orchestrationtest.Start(e, guarded, "secret")
		if err := h.Raise(e.Context(), "more", "plain"); err != nil {
			t.Error(err)
		}
		if got, err := h.Wait(e.Context()); !errors.Is(err, client.ErrEncrypted) {
			t.Errorf("a client without a codec reads %q, %v", got, err)
		}
		if all := e.History(h); string(all[0].Input) != `"secret"` { // not of the client
			t.Errorf("%+v", all[0])
		}
	}, withCodec(aes(t)), orchestrationtest.WithClient(func(o *client.Options) { o.Codec = nil }))
}

// flaky fails each third call that decrypts.
type flaky struct {
	codec.Codec

	calls atomic.Int64
}

func (f *flaky) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
	if f.calls.Add(1)%3 == 0 {
		return nil, errors.New("the key service is down")
	}
	return f.Codec.Open(ctx, items)
}

// An outage of the codec fails no test: the nodes wait for it, and a check that it prevents is left out.
func TestCodecThatFails(t *testing.T) {
	t.Parallel()
	c := &flaky{Codec: aes(t)}
	for range 3 {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) { playGuarded(t, e) }, withCodec(c))
		c.calls.Add(1)
	}
}
