package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
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

// sums is a model whose documents are lists of numbers.
type sums []model.Name

func (s sums) Orchestrations() []model.Name { return s }

func (s sums) New(of model.Name) model.Execution { return &sum{of: of} }

// sum adds the numbers of its document and of its events, until an update ends it.
type sum struct {
	of    model.Name
	total int
	over  bool
}

func (s *sum) Run(ctx *orchestration.Context, input json.RawMessage) (json.RawMessage, error) {
	var numbers []int
	if err := json.Unmarshal(input, &numbers); err != nil {
		return nil, err
	}
	for _, n := range numbers {
		s.total += n
	}
	if err := ctx.Await(func() bool { return s.over }); err != nil {
		return nil, err
	}
	return json.Marshal(fmt.Sprint(s.of.Version, " ", s.total))
}

func (s *sum) HandleEvent(_ *orchestration.Context, e orchestration.Incoming) error {
	var n int
	err := json.Unmarshal(e.Input, &n)
	s.total += n
	return err
}

func (s *sum) AnswerQuery(q orchestration.Incoming) (any, error) {
	return fmt.Sprint(q.Name, " ", s.total), nil
}

func (s *sum) ValidateUpdate(u orchestration.Incoming) error {
	if u.Name != "end" {
		return errors.New("only end")
	}
	return nil
}

func (s *sum) HandleUpdate(*orchestration.Context, orchestration.Incoming) (any, error) {
	s.over = true
	return s.total, nil
}

// A model runs beside functions, in versions, and handles what comes to its instances by any name. Its histories replay.
func TestHazard117_AModelRunsWhatItClaims(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		if err := runtime.AddModel(reg, sums{{Name: "sum", Version: "1"}, {Name: "sum", Version: "2"}}); err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		ctx := e.T.Context()
		for _, version := range []string{"1", "2"} {
			h, err := client.StartNamed[string](ctx, e.Client(client.Options{}), "sum", []int{1, 2}, client.WithVersion(version))
			if err != nil {
				e.T.Fatal(err)
			}
			e.Raise(h.Key(), "any name", 4)
			e.Until("the event is taken", func() bool { return e.Get(h.Key()).InboxMessages == 0 })
			if got, err := enginetest.Query[string](e, h, "total", nil); got != "total 7" || err != nil {
				e.T.Errorf("%q, %v", got, err)
			}
			if _, err := client.Update[int](ctx, h, "other", nil); !errors.Is(err, client.ErrRejected) {
				e.T.Error(err)
			}
			if got, err := client.Update[int](ctx, h, "end", nil); got != 7 || err != nil {
				e.T.Errorf("%d, %v", got, err)
			}
			if out, err := h.Wait(ctx); out != version+" 7" || err != nil {
				e.T.Errorf("%q, %v", out, err)
			}
			enginetest.Replays(e, h)
		}
	})
}
