package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestration/model"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// belts is an execution model of conveyor belts: its input is a list of stations, each an activity, an orchestration or a time to wait.
type belts []model.Name

type station struct {
	Activity      string        `json:"activity,omitempty"`
	Orchestration string        `json:"orchestration,omitempty"`
	Wait          time.Duration `json:"wait,omitempty"`
}

func (b belts) Orchestrations() []model.Name { return b }

func (b belts) New(of model.Name) model.Execution { return &belt{of: of} }

type belt struct {
	of     model.Name
	passed int
}

func (b *belt) Run(ctx *orchestration.Context, input json.RawMessage) (json.RawMessage, error) {
	var stations []station
	if err := json.Unmarshal(input, &stations); err != nil {
		return nil, fmt.Errorf("the input is no belt: %w", err)
	}
	var out []string
	for _, s := range stations {
		b.passed++
		switch did, err := b.pass(ctx, s); {
		case err != nil:
			return nil, err
		case did != "":
			out = append(out, did)
		}
	}
	return json.Marshal(fmt.Sprintf("%s %s passed %d: %s", b.of.Name, b.of.Version, b.passed, strings.Join(out, ", ")))
}

func (b *belt) pass(ctx *orchestration.Context, s station) (did string, err error) {
	switch {
	case s.Activity != "":
		return orchestration.CallActivityNamed[string](ctx, s.Activity, b.passed)
	case s.Orchestration != "":
		return orchestration.CallOrchestrationNamed[string](ctx, s.Orchestration, []station{{Activity: "press"}}, orchestration.Version("2"))
	default:
		return "", ctx.Sleep(s.Wait)
	}
}

// A model's executions run beside Go functions in all modes, as a parent and as a child, and each begins with what New returns.
func TestModelRunsBesideFunctions(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "press", func(_ context.Context, n int) (string, error) { return fmt.Sprint("pressed ", n), nil })
		enginetest.Orchestration(e.T, reg, "parent", func(ctx *octx, _ int) (string, error) {
			return orchestration.CallOrchestrationNamed[string](ctx, "belt", []station{{Orchestration: "belt"}, {Wait: time.Minute}, {Activity: "press"}})
		})
		if err := runtime.AddModel(reg, belts{{Name: "belt"}, {Name: "belt", Version: "2"}}); err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		const want = "belt  passed 3: belt 2 passed 1: pressed 1, pressed 3"
		for i := range 2 {
			if got := enginetest.Output[string](e, e.Create(fmt.Sprint(i), "parent", 1)); got != want {
				e.T.Errorf("got %q, want %q", got, want)
			}
		}
		if got := e.WaitEnded(e.Create("no belt", "belt", 1)); got.Status != provider.StatusFailed {
			e.T.Errorf("a wrong input: %v", got.Status)
		}
	})
}

// A model claims all of its names or none.
func TestModelsAreChecked(t *testing.T) {
	t.Parallel()
	var none belts
	for name, c := range map[string]struct {
		m    model.Model
		want string
	}{
		"nil":        {nil, "the model is nil"},
		"nil value":  {none, "claims no names"},
		"no names":   {belts{}, "claims no names"},
		"no name":    {belts{{}}, "orchestration name is empty"},
		"twice":      {belts{{Name: "a"}, {Name: "a"}}, "claims it twice"},
		"in use":     {belts{{Name: "a"}, {Name: "parent"}}, "the name is in use"},
		"version":    {belts{{Name: "parent", Version: "1"}}, `version "1": it is registered already`},
		"perdure's":  {belts{{Name: "perdure.x"}}, "belong to perdure itself"},
		"no version": {belts{{Name: "a", Version: "\x00"}}, "version"},
	} {
		reg := runtime.NewRegistry()
		for _, version := range []string{"", "1"} {
			opts := []orchestration.DefineOption{orchestration.Version(version)}[:min(1, len(version))]
			fn := orchestration.Define("parent", func(*octx, int) (int, error) { return 0, nil }, opts...)
			if err := runtime.AddOrchestration(reg, fn); err != nil {
				t.Fatal(err)
			}
		}
		if err := runtime.AddModel(reg, c.m); !errors.Is(err, runtime.ErrRegistration) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		free := orchestration.Define("a", func(*octx, int) (int, error) { return 0, nil })
		if err := runtime.AddOrchestration(reg, free); err != nil {
			t.Errorf("%s: a part of a refused model is registered: %v", name, err)
		}
	}
	if err := runtime.AddModel(nil, belts{{Name: "a"}}); !errors.Is(err, runtime.ErrRegistration) {
		t.Error(err)
	}
}
