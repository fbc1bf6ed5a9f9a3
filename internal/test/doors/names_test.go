package doors_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// oddNames are empty, resemble others or change the text direction. Some contain terminal, shell or SQL syntax, and
// some are no valid text.
var oddNames = []string{
	"", "order-42", "оrder-42" /* Cyrillic о */, "e\u0301", "\u00e9", "a\u202eb", "\u200b", "\ufeff", "\x1b[31m", "\u009b31m", "\x7f", "a\nb", "a\tb",
	" ", "..", "/", "--db", "%", "_", "'", "\"", "\\", "\x00", "a\x00", "\xff", "a\xff", "\xed\xa0\x80", "\U0010ffff", "%s%n", "x' OR 1=1 --",
	strings.Repeat("n", provider.MaxName), long, strings.Repeat("é", provider.MaxName/2), strings.Repeat("é", provider.MaxName/2+1),
}

// names generates texts of all sorts.
func names() *rapid.Generator[string] {
	odd := rapid.SampledFrom(oddNames)
	edge := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(provider.MaxName-3, provider.MaxName+3).Draw(t, "bytes")
		tail := odd.Draw(t, "tail")
		return strings.Repeat("n", max(n-len(tail), 0)) + tail
	})
	bytes := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) })
	return rapid.OneOf(odd, edge, bytes, rapid.String(), rapid.Map(rapid.SliceOfN(odd, 1, 4), func(s []string) string { return strings.Join(s, "") }))
}

// fits is an independent implementation of the rule for names.
func fits(name string) bool {
	n := 0
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		if r == 0 || r == utf8.RuneError && size == 1 {
			return false
		}
		name, n = name[size:], n+size
	}
	return n >= 1 && n <= provider.MaxName
}

// asked returns the errors of a client and a provider for a name, by door.
func asked(ctx context.Context, c *client.Client, name string) map[string]error {
	late := func(err error) error { // the name was accepted, and the instance accepts nothing
		if errors.Is(err, client.ErrEnded) || errors.Is(err, client.ErrNotFound) {
			return nil
		}
		return err
	}
	_, lookup := client.Lookup[string](ctx, c, name)
	_, count := c.Count(ctx, client.Filter{IDPrefix: name, Orchestration: name})
	if name == "" {
		count = errors.New("no restriction")
	}
	return map[string]error{
		"ID": late(lookup), "filter": count, "event": late(c.Raise(ctx, "done", name, 1)),
		"request ID": late(c.Raise(ctx, "done", "e", 1, client.WithRequestID(name))),
		"provider":   provider.GetRequest{ID: name}.Validate(),
	}
}

// registered returns the errors of a registry for a name, by door.
func registered(name string) map[string]error {
	return map[string]error{
		"activity":      runtime.AddActivity(runtime.NewRegistry(), activity.Define(name, Charge)),
		"orchestration": runtime.AddOrchestration(runtime.NewRegistry(), orchestration.Define(name, Checkout)),
		"queue":         runtime.AddActivity(runtime.NewRegistry(), Charge, runtime.OnQueue(name)),
		"error":         runtime.AddError(runtime.NewRegistry(), name, errOther),
		"error type":    runtime.AddErrorType[*declined](runtime.NewRegistry(), name),
	}
}

// inside reports which doors of an orchestration accept a name. It leaves nothing pending.
func inside(ctx *octx, name string) map[string]bool {
	taken := map[string]bool{}
	ask := func(door string, ready bool, cancel func()) {
		taken[door] = !ready // a refused call ends at once
		cancel()
	}
	a := orchestration.StartActivityNamed[int](ctx, name, 1)
	ask("activity", a.Ready(), a.Cancel)
	q := orchestration.StartActivityNamed[int](ctx, "nobody has it", 1, orchestration.WithQueue(name))
	ask("queue", q.Ready(), q.Cancel)
	o := orchestration.StartOrchestrationNamed[int](ctx, name, 1)
	ask("child", o.Ready(), o.Cancel)
	i := orchestration.StartOrchestrationNamed[int](ctx, "nobody has it", 1, orchestration.WithInstanceID(name))
	ask("child's ID", i.Ready(), i.Cancel)
	return taken
}

// Either every door accepts a text as a name, or every door refuses it.
func TestDoorsAgreeOnNames(t *testing.T) {
	c := clienttest.New(t, newWorld(t), client.Options{Logger: quiet()})
	th := newTheater(t)
	ask := func(rt rapid.TB, name string) {
		answers := registered(name)
		maps.Copy(answers, asked(t.Context(), c, name))
		for door, err := range answers {
			if (err == nil) != fits(name) {
				rt.Errorf("%s, asked for %q: %v", door, name, err)
			}
		}
		// A slow first turn is abandoned and repeated, so the code may run twice at the same time.
		var answer atomic.Pointer[map[string]bool]
		if _, err := th.run(t.Context(), func(ctx *octx) error {
			taken := inside(ctx, name)
			answer.Store(&taken)
			return nil
		}); err != nil {
			rt.Fatal(err)
		}
		taken := maps.Clone(*answer.Load())
		_, err := th.run(t.Context(), func(ctx *octx) error { orchestration.Events[int](ctx, name); return nil })
		taken["events"] = err == nil
		for door, taken := range taken {
			if taken != fits(name) {
				rt.Errorf("%s in an orchestration, asked for %q, takes it: %v", door, name, taken)
			}
		}
	}
	for _, name := range oddNames {
		ask(t, name)
	}
	rapid.Check(t, func(rt *rapid.T) { ask(rt, names().Draw(rt, "name")) })
}

// An accepted name works. Every way to look up its instance and orchestration finds it. The instance receives events of
// that name, and each name comes back unchanged.
func TestNamesComeBack(t *testing.T) {
	c := clienttest.New(t, newWorld(t), client.Options{Logger: quiet()})
	try := func(rt rapid.TB, name string) {
		ctx := t.Context()
		h, err := client.StartNamed[string](ctx, c, name, 1, client.WithID(name), client.WithIDPolicy(client.UseExisting))
		if err != nil {
			rt.Fatal(err)
		}
		if err := c.Raise(ctx, name, name, 1, client.WithRequestID(name)); err != nil {
			rt.Error(err)
		}
		d, err := c.Describe(ctx, name)
		if err != nil || d.ID != name || d.Orchestration != name || d.Key != h.Key() {
			rt.Errorf("described as %q, %q: %v", d.ID, d.Orchestration, err)
		}
		runes := []rune(name)
		for _, prefix := range []string{name, string(runes[:len(runes)/2])} {
			found := 0
			for d, err := range c.All(ctx, client.Filter{IDPrefix: prefix, Orchestration: name}) {
				if err != nil {
					rt.Fatal(err)
				}
				if d.ID == name {
					found++
				}
				if !strings.HasPrefix(d.ID, prefix) {
					rt.Errorf("prefix %q finds %q", prefix, d.ID)
				}
			}
			if found != 1 {
				rt.Errorf("prefix %q finds %q %d times", prefix, name, found)
			}
		}
	}
	for _, name := range oddNames {
		if fits(name) {
			try(t, name)
		}
	}
	rapid.Check(t, func(rt *rapid.T) { try(rt, names().Filter(fits).Draw(rt, "name")) })
}
