package orchestration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// tells returns code of "main" in a version, which waits for an event and says who ran.
func tells(version string) func(*octx, none) (string, error) {
	return orchestration.Define("main", func(ctx *octx, _ none) (string, error) {
		_, err := orchestration.Events[int](ctx, "go").Receive(ctx)
		return "ran " + version + " as " + ctx.Info().CodeVersion, err
	}, orchestration.Version(version))
}

// unversioned is the same code without a version.
func unversioned() func(*octx, none) (string, error) {
	return orchestration.Define("main", func(ctx *octx, _ none) (string, error) {
		_, err := orchestration.Events[int](ctx, "go").Receive(ctx)
		return "ran none as " + ctx.Info().CodeVersion, err
	})
}

// serve starts a node with functions of one type.
func serve[In, Out any](e *enginetest.Engine, code ...func(*octx, In) (Out, error)) *runtime.Runtime {
	e.T.Helper()
	reg := registry(e.T)
	for _, fn := range code {
		if err := runtime.AddOrchestration(reg, fn); err != nil {
			e.T.Fatal(err)
		}
	}
	return e.Start(reg)
}

// Versions of one name run side by side. An instance runs the version that it was started with, by a reference, by an option, by name,
// or by a parent.
func TestVersionsSideBySide(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		parent := orchestration.Define("parent", func(ctx *octx, _ none) (string, error) {
			var said []string
			for _, child := range []orchestration.Future[string]{
				orchestration.StartOrchestration(ctx, tells("9"), none{}, orchestration.WithInstanceID("of parent")),
				orchestration.StartOrchestration(ctx, unversioned(), none{}, orchestration.WithInstanceID("of parent too")),
				orchestration.StartOrchestrationNamed[string](ctx, "main", none{}, orchestration.WithInstanceID("named"), orchestration.Version("10")),
			} {
				s, err := child.Get(ctx)
				said = append(said, fmt.Sprint(s, err))
			}
			return strings.Join(said, ", "), nil
		})
		serve(e, tells("9"), tells("10"), unversioned(), parent)
		c := e.Client(client.Options{})
		begin := func(h client.Handle[string], err error) client.Handle[string] {
			e.T.Helper()
			if err != nil {
				e.T.Fatal(err)
			}
			return h
		}
		named := func(opts ...client.StartOption) client.Handle[string] {
			return begin(client.StartNamed[string](e.T.Context(), c, "main", none{}, opts...))
		}
		for i, s := range []struct {
			h    client.Handle[string]
			want string
		}{
			{begin(client.Start(e.T.Context(), c, tells("9"), none{})), "ran 9 as 9"},
			{begin(client.Start(e.T.Context(), c, tells("9"), none{}, client.WithVersion("10"))), "ran 10 as 10"},
			{begin(client.Start(e.T.Context(), c, unversioned(), none{})), "ran none as "},
			{named(), "ran 10 as 10"},
			{named(client.WithVersion("9")), "ran 9 as 9"},
			{named(client.WithVersion("")), "ran none as "},
		} {
			e.Raise(s.h.Key(), "go", 1)
			if got, err := s.h.Wait(e.T.Context()); err != nil || got != s.want {
				e.T.Errorf("start %d: got %q, %v, want %q", i, got, err, s.want)
			}
		}
		h := begin(client.Start(e.T.Context(), c, parent, none{}))
		for _, id := range []string{"of parent", "of parent too", "named"} {
			e.Until("the child is there", func() bool {
				_, err := client.Lookup[string](e.T.Context(), c, id)
				return err == nil
			})
			child := begin(client.Lookup[string](e.T.Context(), c, id))
			e.Raise(child.Key(), "go", 1)
		}
		want := "ran 9 as 9<nil>, ran none as <nil>, ran 10 as 10<nil>"
		if got, err := h.Wait(e.T.Context()); err != nil || got != want {
			e.T.Errorf("children: got %q, %v, want %q", got, err, want)
		}
	})
}

// A node leaves versions that it has not registered to others, and the instance keeps its version over cold loads.
func TestInstancesKeepTheirVersion(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		first := serve(e, tells("1"))
		h, err := client.Start(e.T.Context(), e.Client(client.Options{}), tells("1"), none{})
		if err != nil {
			e.T.Fatal(err)
		}
		e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength > 0 })
		e.Stop(first)
		second := serve(e, tells("2"))
		e.Raise(h.Key(), "go", 1)
		e.Until("the second node shows that it cannot run it", func() bool {
			health, err := second.Health(e.T.Context())
			return err == nil && len(health.Unserved) == 1 && health.Unserved[0].Version == "1"
		})
		serve(e, tells("1"), tells("2"))
		if got := enginetest.Output[string](e, h.Key()); got != "ran 1 as 1" {
			e.T.Errorf("got %s", got)
		}
	})
}

// round is code that continues as new after each event until it is told to stop. Its input lists the versions that ran.
func round(version string, opts ...orchestration.ContinueOption) func(*octx, []string) ([]string, error) {
	var define []orchestration.DefineOption
	if version != "" {
		define = append(define, orchestration.Version(version))
	}
	return orchestration.Define("main", func(ctx *octx, ran []string) ([]string, error) {
		stop, err := orchestration.Events[bool](ctx, "go").Receive(ctx)
		if ran = append(ran, version); err != nil || stop {
			return ran, err
		}
		return nil, orchestration.ContinueAsNew(ctx, ran, opts...)
	}, define...)
}

// turnOver lets an instance do one round, and waits for its end.
func turnOver(e *enginetest.Engine, key provider.UUID) {
	e.T.Helper()
	before := e.Get(key).Execution
	e.Raise(key, "go", false)
	e.Until("it continued", func() bool { i := e.Get(key); return i.Execution > before && i.HistoryLength > 0 })
}

// Continue-as-new takes the newest version of the node that commits, and never an older one, whichever nodes there are. An instance
// whose version is not there waits.
func TestHazard59_ContinueAsNewNeverGoesBack(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		old := serve(e, round("9"))
		h, err := client.Start(e.T.Context(), e.Client(client.Options{}), round("9"), nil)
		if err != nil {
			e.T.Fatal(err)
		}
		turnOver(e, h.Key())
		e.Stop(old)
		both := serve(e, round("9"), round("10"), round(""))
		turnOver(e, h.Key())
		if got := e.Get(h.Key()).CodeVersion; got != "10" {
			e.T.Fatalf("it continues as %q, want 10", got)
		}
		turnOver(e, h.Key())
		e.Stop(both)
		swapped := serve(e, round("10"), round("9"))
		turnOver(e, h.Key())
		e.Stop(swapped)
		old = serve(e, round("9"))
		e.Raise(h.Key(), "go", false)
		e.Until("the old node shows that it cannot run it", func() bool {
			health, err := old.Health(e.T.Context())
			return err == nil && len(health.Unserved) == 1
		})
		e.Raise(h.Key(), "go", true)
		serve(e, round("10"))
		want := []string{"9", "9", "10", "10", "10", "10"}
		if got := enginetest.Output[[]string](e, h.Key()); !slices.Equal(got, want) {
			e.T.Errorf("got %q, want %q", got, want)
		}
	})
}

// Code without a version continues in the first version. KeepVersion keeps the version.
func TestContinueAsNewFromNoVersionAndKept(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		serve(e, round(""), round("1", orchestration.KeepVersion()), round("2"))
		for _, c := range []struct {
			opts []client.StartOption
			want []string
		}{
			{[]client.StartOption{client.WithVersion("")}, []string{"", "2", "2"}},
			{[]client.StartOption{client.WithVersion("1")}, []string{"1", "1", "1"}},
		} {
			h, err := client.StartNamed[[]string](e.T.Context(), e.Client(client.Options{}), "main", []string{}, c.opts...)
			if err != nil {
				e.T.Fatal(err)
			}
			turnOver(e, h.Key())
			turnOver(e, h.Key())
			e.Raise(h.Key(), "go", true)
			if got, err := h.Wait(e.T.Context()); err != nil || !slices.Equal(got, c.want) {
				e.T.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		}
	})
}

// Code learns of a newer version by a message, and goes by that on every node, with the newer version or without.
func TestHazard59_NewerVersionIsAnsweredFromEvents(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		code := func(version string) func(*octx, none) ([]bool, error) {
			return orchestration.Define("main", func(ctx *octx, _ none) ([]bool, error) {
				var seen []bool
				for range 3 {
					if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
						return nil, err
					}
					seen = append(seen, ctx.Info().NewerVersion)
					if ctx.Info().NewerVersion { // the branch of the hazard
						if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
							return nil, err
						}
					}
				}
				return seen, nil
			}, orchestration.Version(version))
		}
		rt := serve(e, code("1"))
		h, err := client.Start(e.T.Context(), e.Client(client.Options{}), code("1"), none{})
		if err != nil {
			e.T.Fatal(err)
		}
		steps := func(rt *runtime.Runtime, length int64) {
			e.T.Helper()
			e.Raise(h.Key(), "go", 1)
			e.Until("it waits for the next event", func() bool {
				i := e.Get(h.Key())
				if i.Blocked != nil {
					e.T.Fatalf("it is blocked: %+v", i.Blocked)
				}
				return i.HistoryLength >= length
			})
			e.Stop(rt)
		}
		steps(rt, 2)
		steps(serve(e, code("1"), code("2")), 5)
		serve(e, code("1"))
		e.Raise(h.Key(), "go", 1)
		if i := e.EndedOrBlocked(h.Key()); i.Blocked != nil {
			e.T.Fatalf("it is blocked: %+v", i.Blocked)
		}
		if got := enginetest.Output[[]bool](e, h.Key()); !slices.Equal(got, []bool{false, true, true}) {
			e.T.Errorf("code saw %v", got)
		}
		noted := 0
		for _, event := range e.History(h.Key(), 1) {
			if event.Newer {
				noted++
			}
		}
		if noted != 1 {
			e.T.Errorf("%d events note it, want 1", noted)
		}
	})
}

// A version that is not allowed is refused where it is given.
func TestVersionsAreChecked(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		for version, want := range map[string]string{"": "version is empty", "a\x00": "NUL", strings.Repeat("v", 513): "513 bytes"} {
			err := runtime.AddOrchestration(runtime.NewRegistry(), tells(version))
			if !errors.Is(err, runtime.ErrRegistration) || !strings.Contains(err.Error(), want) {
				e.T.Errorf("registered %.9q: %v", version, err)
			}
			_, err = client.Start(e.T.Context(), e.Client(client.Options{}), tells(version), none{})
			if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), want) {
				e.T.Errorf("started %.9q: %v", version, err)
			}
			_, err = client.StartNamed[none](e.T.Context(), e.Client(client.Options{}), "main", none{}, client.WithVersion(version))
			if version != "" && !errors.Is(err, client.ErrInvalid) {
				e.T.Errorf("started by name %.9q: %v", version, err)
			}
		}
		for i, fn := range []func(*octx, none) (string, error){tells("1"), tells("2"), tells("1"), unversioned(), unversioned()} {
			err := runtime.AddOrchestration(reg, fn)
			if taken := i == 2 || i == 4; taken != errors.Is(err, runtime.ErrRegistration) {
				e.T.Errorf("registering %d: %v", i, err)
			}
		}
		reg = registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			_, err := orchestration.CallOrchestrationNamed[none](ctx, "x", none{}, orchestration.Version(""))
			if !errors.Is(err, orchestration.ErrInvalid) {
				return none{}, fmt.Errorf("a child of an empty version: %w", err)
			}
			return none{}, nil
		})
		e.Start(reg)
		enginetest.Output[none](e, e.Create("main", "main", none{}))
	})
}

// Code that continues as new as soon as it learns of a newer version does so once, also if the node with that version opens an execution that
// an older node has prepared.
func TestHazard59_EagerCodeContinuesOnce(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		code := func(version string) func(*octx, []string) ([]string, error) {
			return orchestration.Define("main", func(ctx *octx, ran []string) ([]string, error) {
				ran = append(ran, version)
				for !ctx.Info().NewerVersion {
					stop, err := orchestration.Events[bool](ctx, "go").Receive(ctx)
					if err != nil || stop {
						return ran, err
					}
					if version == "1" && len(ran) == 1 {
						break
					}
				}
				return nil, orchestration.ContinueAsNew(ctx, ran)
			}, orchestration.Version(version))
		}
		rt := serve(e, code("1"))
		h, err := client.Start(e.T.Context(), e.Client(client.Options{}), code("1"), nil)
		if err != nil {
			e.T.Fatal(err)
		}
		turnOver(e, h.Key())
		e.Stop(rt)
		serve(e, code("1"), code("2"))
		turnOver(e, h.Key())
		e.Raise(h.Key(), "go", true)
		if got := enginetest.Output[[]string](e, h.Key()); !slices.Equal(got, []string{"1", "1", "2"}) {
			e.T.Errorf("got %q", got)
		}
	})
}
