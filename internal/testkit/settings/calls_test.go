package settings_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/settings"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// wanted compares the defaults in a table with what the code does without the option. It fails for a row that the test
// does not cover.
func wanted(t testing.TB, heading string, does map[string]string) {
	t.Helper()
	table := settings.Table(t, "options.md", heading, "option")
	for name, row := range table {
		got, ok := does[name]
		if !ok {
			t.Errorf("%q: say here what happens without %s, so that its default is tested", heading, name)
			continue
		}
		if got != row["default"] {
			t.Errorf("%q: without %s: %s, the table says %s", heading, name, got, row["default"])
		}
	}
	for name := range does {
		if table[name] == nil {
			t.Errorf("%q: %s has no row", heading, name)
		}
	}
}

func quoted(v any) string { return fmt.Sprintf("`%v`", v) }

// either returns the text of a row for a setting that is off, and else the value.
func either(off bool, says string, value any) string {
	if off {
		return says
	}
	return fmt.Sprint(value)
}

// Calls without options store the defaults.
func TestDefaultsOfCalls(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "child", func(*orchestration.Context, int) (int, error) { return 0, nil })
		enginetest.Orchestration(e.T, reg, "main", func(ctx *orchestration.Context, _ int) (int, error) {
			call := orchestration.StartActivityNamed[int](ctx, "nobody has it", 0)
			child := orchestration.StartOrchestrationNamed[int](ctx, "child", 0)
			_, err := child.Get(ctx)
			call.Cancel()
			return 0, err
		})
		e.Start(reg)
		key := e.Create("main", "main", 0)
		e.WaitEnded(key)
		for i, event := range e.History(key, 1) {
			switch call := event.Body.(type) {
			case *history.ActivityScheduled:
				wanted(e.T, "Calls of activities", map[string]string{
					"WithRetry":               either(call.Retry == nil, "tried once", call.Retry),
					"WithStartToCloseTimeout": either(call.StartToClose == 0, "none", call.StartToClose),
					"WithHeartbeatTimeout":    either(call.HeartbeatTimeout == 0, "none", call.HeartbeatTimeout),
					"WithQueue":               quoted(call.Queue),
					"WithCancellation":        either(call.Cancellation == 0, quoted("TryCancel"), call.Cancellation),
					"AtMostOnce":              either(!call.AtMostOnce, "at least once", call.AtMostOnce),

					"WithScheduleToStartTimeout": either(call.ScheduleToStart == 0, "none", call.ScheduleToStart),
					"WithScheduleToCloseTimeout": either(call.ScheduleToClose == 0, "none", call.ScheduleToClose),
					"WithPriority":               either(call.Priority == 0, fmt.Sprint(provider.PriorityDefault), call.Priority),
					"WithFairnessKey":            either(call.FairnessKey == "", "none", call.FairnessKey),
					"WithSession":                either(call.Session == "", "none", call.Session),
				})
			case *history.ChildStarted:
				derived := fmt.Sprintf("%v/1/%d", key, i+1)
				wanted(e.T, "Calls of children", map[string]string{
					"Version":         either(call.CodeVersion == "", "code without a version", call.CodeVersion),
					"WithClosePolicy": either(call.Close == 0, quoted("CloseCancel"), call.Close),
					"WithAttribute":   either(len(call.Attributes) == 0, "none", call.Attributes),
					"WithTimeLimit":   either(len(call.Attributes) == 0, "none", call.Attributes),
					"WithHeader":      either(len(call.Header) == 0, "that of the parent", call.Header),
					"WithInstanceID":  either(call.ID == derived || call.ID == "", "one made of the parent's key, execution and event", call.ID),
				})
			}
		}
	})
}

// A policy without settings stores the defaults.
func TestDefaultsOfRetryPolicy(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(ctx *orchestration.Context, _ int) (int, error) {
			orchestration.StartActivityNamed[int](ctx, "nobody has it", 0, orchestration.WithRetry(orchestration.RetryPolicy{})).Cancel()
			return 0, nil
		})
		e.Start(reg)
		key := e.Create("main", "main", 0)
		e.WaitEnded(key)
		for _, event := range e.History(key, 1) {
			if call, ok := event.Body.(*history.ActivityScheduled); ok {
				settings.CheckDefaults(e.T, settings.Table(e.T, "options.md", "Retry policy", "field"), "zero means", policyOf(e.T, call.Retry))
				return
			}
		}
		e.T.Error("no activity was scheduled")
	})
}

// policyOf returns a policy with what is stored of it.
func policyOf(t testing.TB, retry *history.RetryPolicy) (filled orchestration.RetryPolicy) {
	t.Helper()
	stored, fields := reflect.ValueOf(*retry), reflect.ValueOf(&filled).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		value := stored.FieldByName(name)
		switch field := fields.Field(i); {
		case !value.IsValid():
			t.Errorf("%s is not stored", name)
		case field.Type() == reflect.TypeFor[time.Duration]():
			field.SetInt(value.Int() * int64(time.Microsecond))
		case field.CanInt():
			field.SetInt(value.Int())
		case field.CanFloat():
			field.SetFloat(float64(value.Int()) / 1000)
		case !value.IsZero():
			t.Errorf("%s is stored as %v", name, value)
		}
	}
	return filled
}

// Clients and registries use the defaults without options.
func TestDefaultsOfClientsAndRegistries(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "echo", func(_ context.Context, n int) (int, error) { return n, nil })
		enginetest.Orchestration(e.T, reg, "main", func(ctx *orchestration.Context, n int) (int, error) {
			if n < 0 {
				panic("a negative number")
			}
			return orchestration.CallActivityNamed[int](ctx, "echo", n)
		})
		c := e.Client(client.Options{})
		start := func(n int, opts ...client.StartOption) (client.Handle[int], error) {
			return client.StartNamed[int](e.T.Context(), c, "main", n, opts...)
		}
		h, err := start(1)
		if err != nil {
			e.T.Fatal(err)
		}
		id, bad := uuid.Parse(h.ID())
		_, again := start(1, client.WithID(h.ID()))
		began := time.Now()
		e.Start(reg)
		hour := func() context.Context { // of virtual time
			ctx, cancel := context.WithTimeout(e.T.Context(), time.Hour)
			e.T.Cleanup(cancel)
			return ctx
		}
		got, err := h.Wait(hour())
		wanted(e.T, "Starts", map[string]string{
			"WithID":                 either(bad == nil && id.Version() == 7, "a UUID of version 7", h.ID()),
			"WithIDPolicy":           either(errors.Is(again, client.ErrExists), "`Reject`", again),
			"WithVersion":            "that of the reference; by name, the newest that a node has", // orchestration tests it
			"WithOverload":           quoted("Options.Overload"),                                   // client tests it
			"WithDelay":              either(time.Since(began) < time.Second, "none", time.Since(began)),
			"WithEvent":              "none",       // client tests it
			"WithExecutionTimeLimit": "none",       // as WithTimeLimit
			"WithLimitGrace":         "one minute", // runtime tests it
			"WithTimeLimit":          either(len(e.Get(h.Key()).Attributes) == 0, "none", e.Get(h.Key()).Attributes),
			"WithAttribute":          either(len(e.Get(h.Key()).Attributes) == 0, "none", e.Get(h.Key()).Attributes),
			"WithRequestID":          "a new one for each call", // internal/test/weaknesses repeats calls
		})
		wanted(e.T, "Events", map[string]string{"WithRequestID": "a new one for each call"})
		wanted(e.T, "AddActivity", map[string]string{
			"OnQueue":       either(got == 1 && err == nil, quoted(orchestration.DefaultQueue), err),
			"MaxConcurrent": "no limit",
			"InPool":        "none",
			"AutoHeartbeat": quoted("Options.Heartbeats.Auto"), // internal/test/heartbeats
			"Defaults":      "none",                            // orchestration
		})
		blocked, err := start(-1)
		if err != nil {
			e.T.Fatal(err)
		}
		e.WaitBlocked(blocked.Key(), 1)
		_, err = blocked.Wait(hour())
		wanted(e.T, "Waiting for the end", map[string]string{
			"OrBlocked": either(errors.Is(err, context.DeadlineExceeded), "keep waiting", err),
		})
		if err := blocked.Terminate(e.T.Context(), "seen"); err != nil {
			e.T.Error(err)
		}
	})
}
