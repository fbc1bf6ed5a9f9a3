package relational

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var running = provider.Instance{Status: provider.StatusRunning}

func noTime() provider.Time { return 0 }

// await waits as a provider does, and returns when it read the store.
func await(ctx context.Context, h *Hub, key provider.UUID, wait time.Duration) (reads []time.Duration, err error) {
	began := time.Now()
	req := provider.GetRequest{Key: key, WaitEnded: true, Wait: wait}
	_, err = h.AwaitEnded(ctx, nil, &req, key, func(context.Context, *provider.GetRequest) (provider.GetResult, error) {
		reads = append(reads, time.Since(began))
		return provider.GetResult{Instance: running}, nil
	}, noTime)
	return reads, err
}

// A waiting call reads the store at the start, at intervals in case a wake-up is lost, and at the end.
func TestAwaitReadsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		h, key := NewHub(), provider.UUID{1}
		for wait, want := range map[time.Duration][]time.Duration{
			time.Second:      {0, time.Second},
			20 * time.Second: {0, recheckEvery, 20 * time.Second},
			time.Hour:        {0, recheckEvery, 2 * recheckEvery},
		} {
			reads, err := await(t.Context(), h, key, wait)
			if err != nil || len(reads) < len(want) || !slices.Equal(reads[:len(want)], want) || reads[len(reads)-1] > provider.MaxWait {
				t.Errorf("a call that waits %v reads at %v, %v", wait, reads, err)
			}
		}
	})
}

// Any of several calls that wait for one instance may leave first. The others are woken, and none is left.
func TestWaitersLeaveInAnyOrder(t *testing.T) {
	t.Parallel()
	for leaver := range 3 {
		h, key := NewHub(), provider.UUID{1}
		waiters := make([]*waiter, 3)
		for i := range waiters {
			waiters[i], _ = h.watch(key)
		}
		h.unwatch(key, waiters[leaver])
		h.Wake(key, &running)
		for i, w := range waiters {
			if woken := len(w.rows) == 1; woken == (i == leaver) {
				t.Errorf("without %d: %d is woken: %t", leaver, i, woken)
			}
			if i != leaver {
				h.unwatch(key, w)
			}
			if gone := i == 2 || leaver == 2 && i == 1; gone == h.Watched(key) {
				t.Errorf("without %d: watched after %d has left: %t", leaver, i, h.Watched(key))
			}
		}
		if h.Waiting() != 0 || len(h.instances) != 0 {
			t.Errorf("%d calls wait for %d instances", h.Waiting(), len(h.instances))
		}
	}
}

// A change of an instance wakes the calls that asked it, and an answer is never lost to it.
func TestChangeOfAnInstanceWakesItsAskers(t *testing.T) {
	t.Parallel()
	h := NewHub()
	key, other := provider.UUID{1}, provider.UUID{2}
	mine, theirs := h.Expect(provider.UUID{3}), h.Expect(provider.UUID{4})
	stop := h.ExpectOf(provider.UUID{3}, key)
	h.ExpectOf(provider.UUID{4}, other)()
	h.Wake(key, nil)
	h.Wake(other, nil)
	select {
	case a := <-mine:
		if !a.Unread {
			t.Errorf("got %+v, want a reason to read", a)
		}
	default:
		t.Error("the asker was not woken")
	}
	if len(theirs) > 0 {
		t.Error("a call that no longer waits was woken")
	}
	h.Reply(Answer{ID: provider.UUID{3}, Payload: []byte("answer")})
	h.Wake(key, nil)
	if a := <-mine; string(a.Payload) != "answer" {
		t.Errorf("got %+v, want the answer", a)
	}
	if stop(); len(h.askers) > 0 {
		t.Errorf("askers remain: %v", h.askers)
	}
}
