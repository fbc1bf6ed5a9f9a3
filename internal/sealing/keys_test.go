package sealing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// keyed is a codec of several keys, each of which can fail. It counts calls.
type keyed struct {
	of     map[string]codec.Codec
	faults map[string]error
	hangs  string // for this key it waits until the call is over
	calls  int
}

func (k *keyed) Growth() int { return codec.MaxGrowth }

func (k *keyed) Seal(context.Context, []codec.Plain) ([]codec.Sealed, error) { return nil, errDown }

func (k *keyed) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
	k.calls++
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var out []codec.Plain
	for _, item := range items {
		if item.KeyID == k.hangs {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		if err := k.faults[item.KeyID]; err != nil {
			return nil, err
		}
		plain, err := k.of[item.KeyID].Open(ctx, []codec.Sealed{item})
		if err != nil {
			return nil, err
		}
		out = append(out, plain...)
	}
	return out, nil
}

// inbox is a store with an instance whose messages two keys have sealed in turns. One of key "a" is damaged if damaged is not negative.
func inbox(t *testing.T, messages, damaged int) (provider.Provider, provider.UUID, *keyed) {
	t.Helper()
	under := memory.New(memory.Options{})
	c := &keyed{of: map[string]codec.Codec{"a": newSwitched(t, "a"), "b": newSwitched(t, "b")}, faults: map[string]error{}}
	key := create(t, seal(under, c.of["a"]), "one").Key
	for i := range messages {
		m, id := message(&history.EventReceived{Name: "e", Payload: []byte(`"x"`)}), "ab"[i%2:i%2+1]
		secrets, err := history.EventSecrets(m.Payload)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := c.of[id].Seal(t.Context(), []codec.Plain{{Purpose: codec.Event, Bytes: secrets.Bytes}})
		if err != nil {
			t.Fatal(err)
		}
		if i == damaged {
			sealed[0].Bytes[len(sealed[0].Bytes)-1]++
		}
		if m.Payload, err = history.SealEvent(m.Payload, history.Kept{Key: id, Bytes: sealed[0].Bytes}); err != nil {
			t.Fatal(err)
		}
		if _, err := under.Send(t.Context(), provider.SendRequest{Key: key, Message: m}); err != nil {
			t.Fatal(err)
		}
	}
	return under, key, c
}

// The outage of one key is not that of another one in the same fetch, also if the key service hangs for it.
func TestHazard116_TheOutageOfOneKey(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{errDown, codec.ErrNoKey, nil} {
		synctest.Test(t, func(t *testing.T) {
			under, _, c := inbox(t, 6, -1)
			defer under.Close() //nolint:errcheck // memory
			if c.faults["b"] = fault; fault == nil {
				c.hangs = "b"
			}
			turn, _ := fetch(t, seal(under, c))
			for i, m := range turn.Messages { // the first one is the start
				_, err := history.Decode(0, m.Payload)
				if theirs := i > 0 && i%2 == 0; theirs != errors.Is(err, history.ErrSealed) {
					t.Errorf("%v: message %d: %v", fault, i, err)
				}
			}
		})
	}
}

// A key that is missing costs a few calls of the codec, and bytes that are damaged a few more, however much else there is.
func TestHazard116_FewCallsFindWhatIsBad(t *testing.T) {
	t.Parallel()
	under, _, c := inbox(t, 200, 100)
	c.faults["b"] = fmt.Errorf("%w: b", codec.ErrNoKey)
	faults := new(sealing.Faults)
	turn, _ := fetch(t, sealing.New(under, c, faults, always))
	bad := 0
	for _, m := range turn.Messages {
		if _, err := history.Decode(0, m.Payload); errors.Is(err, history.ErrCorrupt) {
			bad++
		}
	}
	if bad != 1 || c.calls > 22 {
		t.Errorf("%d damaged after %d calls", bad, c.calls)
	}
	if err := faults.Err(); err == nil || !strings.Contains(err.Error(), `cannot decrypt what key "b" has encrypted`) || strings.Contains(err.Error(), "does not answer") {
		t.Errorf("the finding is %v", err)
	}
}
