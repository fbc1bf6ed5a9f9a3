package activity_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type order struct{ ID string }

// Charge is an activity.
func Charge(_ context.Context, o order) (string, error) {
	if o.ID == "" {
		return "", io.EOF
	}
	return "charged " + o.ID, nil
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	type answer struct {
		Name    string
		Defined bool
		Refused bool
	}
	name := func(name string, defined bool, err error) answer { return answer{name, defined, err != nil} }
	closure := func(context.Context, int) (int, error) { return 0, nil }
	cases := map[string]struct{ got, want answer }{
		"function": {name(bind.ActivityName(Charge)), answer{"Charge", false, false}},
		"defined":  {name(bind.ActivityName(activity.Define("charge", Charge))), answer{"charge", true, false}},
		"defined twice": {
			name(bind.ActivityName(activity.Define("outer", activity.Define("inner", Charge)))), answer{"outer", true, false},
		},
		"closure": {name(bind.ActivityName(closure)), answer{"", false, true}},
		"nil":     {name(bind.ActivityName[int, int](nil)), answer{"", false, true}},
		"no in": {
			name(bind.ActivityName(activity.NoIn("ping", func(context.Context) (int, error) { return 1, nil }))), answer{"ping", true, false},
		},
		"no out": {
			name(bind.ActivityName(activity.NoOut("send", func(context.Context, int) error { return nil }))), answer{"send", true, false},
		},
	}
	for what, c := range cases {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
}

// Asking for a name does not run the function; calling it does.
func TestDefineCallsThrough(t *testing.T) {
	t.Parallel()
	calls := 0
	fn := activity.Define("count", func(_ context.Context, n int) (int, error) {
		calls++
		return n + 1, nil
	})
	if _, _, err := bind.ActivityName(fn); err != nil || calls != 0 {
		t.Errorf("asking called it %d times, %v", calls, err)
	}
	if got, err := fn(t.Context(), 1); got != 2 || err != nil || calls != 1 {
		t.Errorf("got %d, %v after %d calls", got, err, calls)
	}
	sent := activity.NoOut("send", func(context.Context, int) error { return io.EOF })
	if _, err := sent(t.Context(), 1); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestBind(t *testing.T) {
	t.Parallel()
	fn := bind.Activity(Charge)
	if out, err := fn(t.Context(), []byte(`{"ID":"7"}`)); string(out) != `"charged 7"` || err != nil {
		t.Errorf("got %s, %v", out, err)
	}
	if _, err := fn(t.Context(), []byte(`{}`)); !errors.Is(err, io.EOF) || failure.IsNonRetryable(err) {
		t.Errorf("the function's own error became %v", err)
	}
	if _, err := fn(t.Context(), []byte(`[`)); !errors.Is(err, failure.ErrPayload) || !failure.IsNonRetryable(err) {
		t.Errorf("bad input became %v", err)
	}
	bad := bind.Activity(func(context.Context, int) (any, error) { return make(chan int), nil })
	if _, err := bad(t.Context(), []byte(`1`)); !errors.Is(err, failure.ErrPayload) || !failure.IsNonRetryable(err) {
		t.Errorf("bad output became %v", err)
	}
}

// Each record of an activity's logger names the attempt, for any caller and any number of calls.
func TestLoggerNamesTheAttempt(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	plain := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	ctx := bind.WithAttempt(t.Context(), &bind.Attempt{Logger: plain, Info: bind.Info{
		Activity: "charge", InstanceID: "o-1", Execution: 2, EventID: 7, Attempt: 3,
	}})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() { activity.Logger(ctx) })
	}
	asking.Wait()
	activity.Logger(ctx).Info("paid", "sum", 5)
	want := "level=INFO msg=paid activity=charge instance=o-1 execution=2 event=7 attempt=3 sum=5\n"
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Error(diff)
	}
	if activity.Logger(bind.WithAttempt(t.Context(), &bind.Attempt{})) == nil {
		t.Error("an attempt that a test made without a logger has none")
	}
}

// The functions of the package work on the attempt that the context carries.
func TestAttempt(t *testing.T) {
	t.Parallel()
	var beats []string
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(bind.WithAttempt(t.Context(), &bind.Attempt{
		Info: bind.Info{Activity: "charge", Attempt: 2}, Key: "k/1/2",
		Details: []byte(`{"ID":"half"}`), Heartbeat: func(d []byte) { beats = append(beats, string(d)) },
	}))
	if info := activity.GetInfo(ctx); info.Activity != "charge" || info.Attempt != 2 || activity.IdempotencyKey(ctx) != "k/1/2" {
		t.Errorf("%+v, %s", info, activity.IdempotencyKey(ctx))
	}
	if got, ok, err := activity.HeartbeatDetails[order](ctx); got.ID != "half" || !ok || err != nil {
		t.Errorf("details %+v, %v, %v", got, ok, err)
	}
	if _, _, err := activity.HeartbeatDetails[int](ctx); err == nil {
		t.Error("details of another type are an error")
	}
	if err := activity.Heartbeat(ctx, order{"7"}); err != nil {
		t.Errorf("heartbeat returned %v", err)
	}
	if err := activity.Heartbeat(ctx, make(chan int)); err == nil {
		t.Error("details that cannot be encoded are an error")
	}
	cancel(cause)
	if err := activity.Heartbeat(ctx, order{"8"}); !errors.Is(err, cause) {
		t.Errorf("heartbeat returned %v", err)
	}
	if diff := cmp.Diff([]string{`{"ID":"7"}`, `{"ID":"8"}`}, beats); diff != "" {
		t.Error(diff)
	}
	if _, ok, err := activity.HeartbeatDetails[order](bind.WithAttempt(t.Context(), &bind.Attempt{})); ok || err != nil {
		t.Errorf("no details: %v, %v", ok, err)
	}
}

// A context that no activity was given is a mistake that must not pass in silence.
func TestForeignContextPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	activity.GetInfo(t.Context())
}
