package sealed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// spoiled is a codec that takes all events for damaged while on is set, as one with a wrong key may.
type spoiled struct {
	codec.Codec

	on atomic.Bool
}

func (s *spoiled) Open(ctx context.Context, items []codec.Sealed) ([]codec.Plain, error) {
	for _, item := range items {
		if s.on.Load() && item.Purpose == codec.Event {
			return nil, fmt.Errorf("%w: a wrong tag", codec.ErrDamaged)
		}
	}
	return s.Codec.Open(ctx, items)
}

// Damaged bytes block the instance with the reason codec, and end no activity. When the codec is mended, both go on.
func TestHazard72_DamagedBytesBlock(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		ctx, turns, tasks := e.T.Context(), &spoiled{Codec: aes(e.T, "k1")}, &spoiled{Codec: aes(e.T, "k1")}
		first := e.StartOn(e.Store, registry(e.T), runtime.Options{
			Codec: turns, Cache: runtime.CacheOptions{Executions: runtime.Off}, MaxConcurrentActivities: runtime.Off,
		})
		c, err := first.Client(client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		h, err := client.StartNamed[string](ctx, c, "simple", secret("input"), client.WithID("order"))
		if err != nil {
			e.T.Fatal(err)
		}
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		tasks.on.Store(true)
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "echo", func(_ context.Context, in string) (string, error) { return in, nil })
		second := e.StartOn(e.Store, reg, runtime.Options{Codec: tasks})
		turns.on.Store(true)
		time.Sleep(10 * time.Minute) //nolint:forbidigo // virtual
		health, err := second.Health(ctx)
		if err != nil || health.DeadLetters > 0 || !errors.Is(health.Codec, runtime.ErrCodec) || !strings.Contains(health.Codec.Error(), "damaged") {
			e.T.Errorf("the activity: %+v, %v", health, err)
		}
		if d, err := h.Describe(ctx); err != nil || d.Status != client.StatusRunning || len(d.Activities) != 1 || d.Activities[0].Attempt != 1 {
			e.T.Errorf("%+v, %v", d, err)
		}
		tasks.on.Store(false)
		_, err = h.Wait(ctx, client.OrBlocked())
		if blocked, ok := errors.AsType[*client.BlockedError](err); !ok || blocked.Blocked.Reason != "codec" {
			e.T.Errorf("blocked as %v", err)
		}
		turns.on.Store(false)
		if got, err := h.Wait(ctx); err != nil || !strings.HasPrefix(got, secret("input")) {
			e.T.Errorf("%q, %v", got, err)
		}
	})
}

// The input of a schedule opens in its runs.
func TestHazard71_SchedulesOpenInTheirRuns(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Codec: aes(t, "k1")}, func(e *enginetest.Engine) {
		ctx := e.T.Context()
		c, err := e.Start(registry(e.T)).Client(client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		spec := client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}}
		s, err := client.CreateScheduleNamed(ctx, c, "hourly", spec, "simple", secret("scheduled"))
		if err != nil {
			e.T.Fatal(err)
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
		runs := 0
		for d, err := range c.All(ctx, client.Filter{Orchestration: "simple"}) {
			if err != nil {
				e.T.Fatal(err)
			}
			runs++
			if got, err := client.HandleOf[string](c, d.ID, d.Key).Wait(ctx); err != nil || !strings.HasPrefix(got, secret("scheduled")) {
				e.T.Errorf("%q, %v", got, err)
			}
		}
		if runs == 0 {
			e.T.Error("the schedule has started nothing")
		}
		if err := s.Delete(ctx); err != nil {
			e.T.Error(err)
		}
	})
}

// A client that starts through a node has the codec of the node, also for what it sends by itself. A second codec is refused.
func TestClientHasTheCodecOfItsNode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Codec: aes(t, "k1")}, func(e *enginetest.Engine) {
		ctx, rt := e.T.Context(), e.Start(registry(e.T))
		c, err := client.New(e.Store, client.Options{Node: rt.Node(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			e.T.Fatal(err)
		}
		h, err := client.StartNamed[string](ctx, c, "child", secret("child "), client.WithID("child"))
		if err == nil {
			err = h.Raise(ctx, "hello", secret("event"))
		}
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(ctx); err != nil || !strings.HasPrefix(got, secret("child ")+secret("event")) {
			e.T.Errorf("%q, %v", got, err)
		}
		stored, err := e.Store.ReadHistory(ctx, provider.ReadHistoryRequest{Key: h.Key(), Execution: 1, From: 1})
		if err != nil || len(stored.Events) < 3 {
			e.T.Fatal(stored, err)
		}
		for _, event := range stored.Events {
			if text := findCanary(event.Data); text != "" {
				e.T.Errorf("event %d has the canary: %s", event.ID, text)
			}
		}
		if _, err := rt.Client(client.Options{Codec: aes(e.T, "k1")}); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("a second codec: %v", err)
		}
	})
}
