package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// mailer returns a registry with the orchestration "order", which calls the activities of its input by name, and with those that are given. by
// names the node in what they return.
func mailer(e *enginetest.Engine, by string, activities ...string) *runtime.Registry {
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "order", func(ctx *octx, names []string) (out []string, err error) {
		for _, name := range names {
			did, err := orchestration.CallActivityNamed[string](ctx, name, "ann", orchestration.WithQueue("post"))
			if err != nil {
				return out, err
			}
			out = append(out, did)
		}
		return out, nil
	})
	for _, name := range activities {
		enginetest.Activity(e.T, reg, name, func(context.Context, string) (string, error) { return by + " " + name, nil }, runtime.OnQueue("post"))
	}
	return reg
}

// fallsBack adds the fallback of all mail.
func fallsBack(e *enginetest.Engine, reg *runtime.Registry) {
	e.T.Helper()
	err := runtime.AddActivityFallback(reg, []string{"mail.*"}, func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
		var to string
		if err := json.Unmarshal(input, &to); err != nil || activity.GetInfo(ctx).Activity != name {
			return nil, fmt.Errorf("%q for %q: %w", name, activity.GetInfo(ctx).Activity, err)
		}
		return json.Marshal("fallback " + name + " to " + to)
	}, runtime.OnQueue("post"))
	if err != nil {
		e.T.Fatal(err)
	}
}

// ordered returns what the activities of an order returned, and how long it took.
func ordered(e *enginetest.Engine, id string, names ...string) (did []string, took time.Duration) {
	e.T.Helper()
	began := time.Now()
	did = enginetest.Output[[]string](e, e.Create(id, "order", names))
	return did, time.Since(began)
}

// A fallback takes a name when it has waited for 30 seconds and no live node lists it. A deploy with a gap of less takes nothing from the node that comes
// back, and a name goes back to the node that lists it.
func TestHazard117_FallbackTakesOnlyWhatNoNodeLists(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := mailer(e, "first")
		fallsBack(e, reg)
		rt := e.Start(reg)
		sends := e.Start(mailer(e, "sender", "mail.send"))
		expect := func(id string, least, most time.Duration, want string, names ...string) {
			t.Helper()
			did, took := ordered(e, id, names...)
			if got := strings.Join(did, ", "); got != want || took < least || took > most {
				t.Errorf("%s: %s after %v, want %s after %v to %v", id, got, took, want, least, most)
			}
		}
		expect("served", 0, time.Second, "sender mail.send", "mail.send")
		expect("unserved", 30*time.Second, 75*time.Second, "fallback mail.digest to ann", "mail.digest")
		expect("taken", 0, time.Second, "fallback mail.digest to ann, sender mail.send", "mail.digest", "mail.send")

		e.Stop(sends)
		again := e.Create("in a deploy", "order", []string{"mail.send"})
		time.Sleep(29 * time.Second) //nolint:forbidigo // in a bubble
		sends = e.Start(mailer(e, "sender", "mail.send"))
		if got := enginetest.Output[[]string](e, again); !slices.Equal(got, []string{"sender mail.send"}) {
			t.Errorf("in a deploy: %v", got)
		}

		e.Stop(sends)
		expect("for good", 30*time.Second, 75*time.Second, "fallback mail.send to ann", "mail.send")
		nodes, err := operate.New(e.Client(client.Options{})).Nodes(e.T.Context())
		if err != nil || len(nodes) != 1 || nodes[0].Fallbacks == nil || len(nodes[0].Fallbacks.Queues) != 1 ||
			!slices.Equal(nodes[0].Fallbacks.Queues[0].Activities, []string{"mail.digest", "mail.send"}) {
			t.Errorf("the list of nodes does not tell what the fallback takes: %+v, %v", nodes, err)
		}
		op := operate.New(e.Client(client.Options{}))
		if _, err := op.PauseQueue(e.T.Context(), "post", "for the test"); err != nil {
			t.Error(err)
		}
		held := e.Create("held", "order", []string{"mail.send"})
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		if h, err := rt.Health(e.T.Context()); err != nil || len(h.Unserved) > 0 {
			t.Errorf("a name that a fallback takes counts as unserved: %+v, %v", h.Unserved, err)
		}
		for _, u := range mustFigures(e) {
			t.Error(u)
		}
		if got := e.Tasks(held); len(got) != 1 {
			t.Errorf("the pause of the queue does not hold a fallback: %+v", got)
		}
		if _, err := op.ResumeQueue(e.T.Context(), "post", ""); err != nil {
			t.Error(err)
		}
		e.WaitEnded(held)
		sends = e.Start(mailer(e, "sender", "mail.send"))
		time.Sleep(16 * time.Second) //nolint:forbidigo // in a bubble
		for i := range 20 {
			expect(fmt.Sprint("back ", i), 0, time.Second, "sender mail.send", "mail.send")
		}
		e.Stop(sends)
	})
}

// mustFigures says what the state of the store and its queues show as served by no node.
func mustFigures(e *enginetest.Engine) (unserved []string) {
	e.T.Helper()
	op := operate.New(e.Client(client.Options{}))
	queues, err := op.Queues(e.T.Context())
	if err != nil {
		e.T.Fatal(err)
	}
	for i := range queues {
		if q := &queues[i]; len(q.Unserved) > 0 {
			unserved = append(unserved, fmt.Sprintf("queue %s: %v", q.Queue, q.Unserved))
		}
	}
	figures, err := op.StoreFigures(e.T.Context())
	if err != nil {
		e.T.Fatal(err)
	}
	for kind, n := range figures.Unserved {
		if n > 0 {
			unserved = append(unserved, fmt.Sprintf("%d of %s", n, kind))
		}
	}
	return unserved
}

// A node that lists only a part of what it has registered may have registered each name.
func TestHazard117_CutListsServeEverything(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := mailer(e, "first")
		fallsBack(e, reg)
		e.Start(reg)
		many := make([]string, 250)
		for i := range many {
			many[i] = fmt.Sprint("other-", i)
		}
		large := e.Start(mailer(e, "large", many...))
		key := e.Create("one", "order", []string{"mail.send"})
		time.Sleep(10 * time.Minute) //nolint:forbidigo // in a bubble
		if got := e.Get(key); got.Status != provider.StatusRunning {
			t.Errorf("a fallback took a name that a node may serve: %v", got.Status)
		}
		e.Stop(large)
		if got := enginetest.Output[[]string](e, key); len(got) != 1 {
			t.Error(got)
		}
	})
}

// flows adds the fallback of all flows: it waits for an event, and returns what it has heard.
func flows(e *enginetest.Engine, reg *runtime.Registry) *runtime.Registry {
	e.T.Helper()
	err := runtime.AddOrchestrationFallback(reg, []string{"flow.*"},
		func(ctx *orchestration.Context, name string, input json.RawMessage) (json.RawMessage, error) {
			heard, err := orchestration.Events[string](ctx, "go").Receive(ctx)
			if err != nil {
				return nil, err
			}
			return json.Marshal(fmt.Sprintf("fallback %s of %s heard %s", name, input, heard))
		})
	if err != nil {
		e.T.Fatal(err)
	}
	return reg
}

// A fallback runs what a fallback has begun, also on another node. It never runs what other code has begun, and leaves that unblocked to the node that
// comes back.
func TestHazard117_FallbackRunsNothingThatOtherCodeBegan(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		registered := func() *runtime.Registry {
			reg := runtime.NewRegistry()
			enginetest.Orchestration(e.T, reg, "flow.own", func(ctx *octx, in int) (string, error) {
				heard, err := orchestration.Events[string](ctx, "go").Receive(ctx)
				return "own heard " + heard, err
			})
			return reg
		}
		owner := e.Start(registered())
		began := e.Create("began elsewhere", "flow.own", 1)
		e.Until("it has begun", func() bool { return e.Get(began).HistoryLength > 0 })
		e.Stop(owner)

		first := e.Start(flows(e, runtime.NewRegistry()))
		e.Raise(began, "go", "a")
		late := e.Create("late", "flow.late", 7)
		e.Until("the fallback has begun it", func() bool { return e.Get(late).HistoryLength > 0 })
		time.Sleep(5 * time.Minute) //nolint:forbidigo // in a bubble
		if got := e.Get(began); got.Status != provider.StatusRunning || got.Blocked != nil {
			t.Errorf("what other code began: %v, %+v", got.Status, got.Blocked)
		}
		e.Stop(first)
		e.Start(flows(e, runtime.NewRegistry()))
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		c := e.Client(client.Options{})
		if got, err := client.Query[string](e.T.Context(), client.HandleOf[any](c, "late", late), "stack", nil); err != nil || !strings.Contains(got, "fallback_test.go") {
			t.Errorf("an instance that waits is not asked: %q, %v", got, err)
		}
		short, cancel := context.WithTimeout(e.T.Context(), time.Minute)
		defer cancel()
		if got, err := client.Query[string](short, client.HandleOf[any](c, "began elsewhere", began), "stack", nil); !errors.Is(err, client.ErrUnserved) {
			t.Errorf("an instance that other code has begun: %q, %v", got, err)
		}
		e.Raise(late, "go", "b")
		if got := enginetest.Output[string](e, late); got != "fallback flow.late of 7 heard b" {
			t.Error(got)
		}
		e.Start(registered())
		if got := enginetest.Output[string](e, began); got != "own heard a" {
			t.Error(got)
		}
	})
}

// A fallback that would take everything, or what is perdure's own, is refused.
func TestHazard117_FallbackOfEverythingIsRefused(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }
	for name, c := range map[string]struct {
		names []string
		opts  []runtime.RegisterOption
		want  string
	}{
		"all":              {[]string{"*"}, nil, "stands for all names"},
		"none":             {nil, nil, "no name is given"},
		"middle":           {[]string{"mail.*.de"}, nil, "asterisk in the middle"},
		"empty":            {[]string{""}, nil, "name is empty"},
		"perdure's":        {[]string{"perdure.x"}, nil, "belong to perdure itself"},
		"all of perdure's": {[]string{"perdure.*"}, nil, "belong to perdure itself"},
		"more than those":  {[]string{"perd*"}, nil, "belong to perdure itself"},
		"twice":            {[]string{"mail.*", "mail.*"}, nil, "has a fallback already"},
		"limit":            {[]string{"mail.*"}, []runtime.RegisterOption{runtime.MaxConcurrent(1)}, "only the option OnQueue"},
	} {
		reg := runtime.NewRegistry()
		err := runtime.AddActivityFallback(reg, c.names, fn, c.opts...)
		if !errors.Is(err, runtime.ErrRegistration) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := runtime.Start(t.Context(), memory.New(memory.Options{}), reg, runtime.Options{}); !errors.Is(err, runtime.ErrRegistration) {
			t.Errorf("%s: Start: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"no function":      runtime.AddActivityFallback(runtime.NewRegistry(), []string{"a"}, nil),
		"no orchestration": runtime.AddOrchestrationFallback(runtime.NewRegistry(), []string{"a"}, nil),
		"no registry":      runtime.AddActivityFallback(nil, []string{"a"}, fn),
	} {
		if !errors.Is(err, runtime.ErrRegistration) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
