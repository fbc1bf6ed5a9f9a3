package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

// canary begins each text of user code. It has no letter that JSON or base 64 would write in another way.
const canary = "c4nary"

// secret returns a text that must not be seen.
func secret(what string) string { return canary + " " + what }

func key(id string) codec.Key {
	return codec.Key{ID: id, Bytes: bytes.Repeat([]byte{id[len(id)-1]}, 32)}
}

func aes(t testing.TB, ids ...string) codec.Codec {
	t.Helper()
	keys := make([]codec.Key, len(ids))
	for i, id := range ids {
		keys[i] = key(id)
	}
	c, err := codec.AES(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type octx = orchestration.Context

// unencodable is a value whose encoding fails with a text of the user's.
type unencodable struct{}

func (unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New(secret("encoding")) }

// spill is an error with details of its own.
type spill struct{ Who string }

func (s *spill) Error() string { return secret("spilled by ") + s.Who }

// registry has code that makes something of each kind that is stored.
func registry(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := runtime.AddErrorType[*spill](reg, "spill"); err != nil {
		t.Fatal(err)
	}
	enginetest.Activity(t, reg, "echo", func(ctx context.Context, in string) (string, error) {
		return in + " " + secret("output"), activity.Heartbeat(ctx, secret("heartbeat"))
	})
	enginetest.Activity(t, reg, "flaky", func(ctx context.Context, _ string) (string, error) {
		switch activity.GetInfo(ctx).Attempt {
		case 1:
			if err := activity.Heartbeat(ctx, secret("details")); err != nil {
				return "", err
			}
			return "", fmt.Errorf("%s: %w", secret("first"), &spill{secret("bob")})
		case 2:
			panic(secret("panic of an activity"))
		}
		details, ok, err := activity.HeartbeatDetails[string](ctx)
		return fmt.Sprint(details, ok), err
	})
	enginetest.Activity(t, reg, "doomed", func(context.Context, string) (string, error) {
		return "", orchestration.NonRetryable(&spill{secret("carl")})
	})
	enginetest.Orchestration(t, reg, "child", func(ctx *octx, in string) (string, error) {
		if strings.HasSuffix(in, "fail") {
			return "", &spill{secret("child")}
		}
		got, err := orchestration.Events[string](ctx, "hello").Receive(ctx)
		return in + got + secret("of the child"), err
	})
	enginetest.Orchestration(t, reg, "main", mainOf)
	enginetest.Orchestration(t, reg, "panics", func(ctx *octx, in string) (string, error) {
		if _, err := orchestration.Events[string](ctx, "go").Receive(ctx, orchestration.Waiting(canary+" to go")); err != nil {
			return "", err
		}
		panic(in)
	})
	enginetest.Orchestration(t, reg, "simple", func(ctx *octx, in string) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "echo", in)
	})
	return reg
}

// mainOf makes all kinds of commands.
func mainOf(ctx *octx, in string) (string, error) {
	orchestration.HandleQuery(ctx, "ask", func(q string) (string, error) {
		if q == "fail" {
			return "", &spill{secret("query")}
		}
		return q + secret("answer"), nil
	})
	orchestration.HandleUpdate(ctx, "change", func(_ *octx, in string) (string, error) {
		if strings.HasSuffix(in, "fail") {
			return "", &spill{secret("update")}
		}
		return in + secret("changed"), nil
	}, orchestration.Validate(func(in string) error {
		if strings.HasSuffix(in, "reject") {
			return errors.New(secret("rejected"))
		}
		return nil
	}))
	orchestration.HandleEvent(ctx, "refused", func(_ *octx, in string) error { return errors.New("cannot take " + in) })
	orchestration.SetValue(ctx, "unencodable", unencodable{})
	ctx.SetStatus(secret("status"))
	orchestration.SetValue(ctx, "shown", secret("value"))
	if strings.HasPrefix(in, "again") {
		return in, nil
	}
	retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 4, InitialInterval: time.Millisecond})
	out := []string{in}
	add := func(s string, err error) {
		if err != nil {
			s = "error: " + err.Error()
		}
		out = append(out, s)
	}
	add(orchestration.CallActivityNamed[string](ctx, "echo", secret("input")))
	add(orchestration.CallActivityNamed[string](ctx, "flaky", secret("flaky"), retry))
	add(orchestration.CallActivityNamed[string](ctx, "doomed", secret("doomed")))
	add(orchestration.CallLocalNamed[string](ctx, "echo", secret("local")))
	add(orchestration.CallLocalNamed[string](ctx, "doomed", secret("local")))
	add(orchestration.SideEffect(ctx, func() (string, error) { return secret("side effect"), nil }))
	add(orchestration.CallOrchestrationNamed[string](ctx, "child", secret("fail")))
	child := orchestration.StartOrchestrationNamed[string](ctx, "child", secret("child "), orchestration.WithInstanceID(ctx.Info().ID+"/child"))
	if err := ctx.Sleep(50 * time.Millisecond); err != nil { // the start is delivered by now
		return "", err
	}
	if _, err := orchestration.Raise(ctx, ctx.Info().ID+"/child", "hello", secret("hello")).Get(ctx); err != nil {
		return "", err
	}
	add(child.Get(ctx))
	detached := orchestration.StartDetachedNamed(ctx, "child", secret("detached"), orchestration.WithInstanceID(ctx.Info().ID+"/detached"))
	if _, err := detached.Get(ctx); err != nil {
		return "", err
	}
	if _, err := orchestration.CancelInstance(ctx, ctx.Info().ID+"/detached", secret("reason of code")).Get(ctx); err != nil {
		return "", err
	}
	add(orchestration.Events[string](ctx, "go").Receive(ctx))
	return "", orchestration.ContinueAsNew(ctx, "again "+strings.Join(out, "|"))
}

// lines collects what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// play uses what a client can do. It returns the output of the main instance, and what went wrong.
func play(t testing.TB, c *client.Client, id string) (string, error) {
	t.Helper()
	ctx := t.Context()
	h, err := client.StartNamed[string](ctx, c, "main", secret("start"), client.WithID(id))
	if err != nil {
		return "", err
	}
	for _, in := range []string{"plain", "fail", "reject"} {
		got, err := client.Update[string](ctx, h, "change", secret(in), client.WithUpdateID(in))
		if (err == nil) != (in == "plain") || in == "plain" && !strings.Contains(got, canary) || in != "plain" && !strings.Contains(err.Error(), canary) {
			return "", fmt.Errorf("update %s: %q, %w", in, got, err)
		}
		again, err := client.Update[string](ctx, h, "change", secret(in), client.WithUpdateID(in))
		if again != got || (err == nil) != (in == "plain") {
			return "", fmt.Errorf("update %s repeated: %q, %w", in, again, err)
		}
	}
	long := secret(strings.Repeat("long ", 2_000))
	for range 2 {
		if _, err := client.Update[string](ctx, h, "change", long, client.WithUpdateID("long")); err != nil {
			return "", fmt.Errorf("long update: %w", err)
		}
	}
	if _, err := client.Update[string](ctx, h, "change", long+"er", client.WithUpdateID("long")); !errors.Is(err, client.ErrUpdateDiffers) {
		return "", fmt.Errorf("another update of the ID: %w", err)
	}
	if got, err := client.Query[string](ctx, h, "ask", secret("question")); err != nil || !strings.HasPrefix(got, secret("question")) {
		return "", fmt.Errorf("query: %q, %w", got, err)
	}
	if _, err := client.Query[string](ctx, h, "ask", "fail"); !errors.Is(err, client.ErrQueryFailed) || !strings.Contains(err.Error(), canary) {
		return "", fmt.Errorf("failing query: %w", err)
	}
	if got, err := client.StatusOf[string](ctx, h); err != nil || got != secret("status") {
		return "", fmt.Errorf("status: %q, %w", got, err)
	}
	if got, err := client.Value[string](ctx, h, "shown"); err != nil || got != secret("value") {
		return "", fmt.Errorf("value: %q, %w", got, err)
	}
	for _, event := range []string{"refused", "go"} {
		if err := h.Raise(ctx, event, secret("event")); err != nil {
			return "", err
		}
	}
	return h.Wait(ctx)
}
