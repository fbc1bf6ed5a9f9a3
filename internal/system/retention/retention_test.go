package retention_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

const day = 24 * time.Hour

type none = orchestration.None

// Quick ends at once, with an error if it is asked to.
func Quick(_ *orchestration.Context, fail bool) (none, error) {
	if fail {
		return none{}, errors.New("no")
	}
	return none{}, nil
}

// Slow is another one that ends at once.
func Slow(*orchestration.Context, none) (none, error) { return none{}, nil }

// Eternal continues as new n times and then waits.
func Eternal(ctx *orchestration.Context, n int) (none, error) {
	if n == 0 {
		return orchestration.Events[none](ctx, "never").Receive(ctx)
	}
	return none{}, orchestration.ContinueAsNew(ctx, n-1)
}

// world is a node whose clock stands still unless the test sleeps.
type world struct {
	*enginetest.Engine

	c *client.Client
}

func bubble(t *testing.T, test func(w *world)) {
	t.Helper()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		err := errors.Join(runtime.AddOrchestration(reg, Quick), runtime.AddOrchestration(reg, Slow), runtime.AddOrchestration(reg, Eternal),
			runtime.AddOrchestration(reg, Parent))
		if err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		test(&world{e, e.Client(client.Options{})})
	})
}

// later lets time pass in the bubble.
func later(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// ended starts instances and waits for their ends.
func (w *world) ended() {
	w.T.Helper()
	for n, name := range []string{"Quick", "Quick", "Slow"} {
		id := fmt.Sprint(name, n)
		key := w.Create(id, name, map[string]any{"Quick": n == 1, "Slow": none{}}[name])
		w.WaitEnded(key)
	}
}

// ids checks which instances there are.
func (w *world) ids(when string, want ...string) {
	w.T.Helper()
	list, err := w.c.List(w.T.Context(), client.Filter{}, client.Page{})
	if err != nil {
		w.T.Fatal(err)
	}
	got := map[string]bool{}
	for _, d := range list.Items {
		got[d.ID] = true
	}
	if len(got) != len(want) {
		w.T.Errorf("%s: %v are there, want %v", when, got, want)
	}
	for _, id := range want {
		if !got[id] {
			w.T.Errorf("%s: %v are there, want %v", when, got, want)
		}
	}
}

func (w *world) set(r operate.Retention) {
	w.T.Helper()
	if err := operate.New(w.c).SetRetention(w.T.Context(), r); err != nil {
		w.T.Fatal(err)
	}
}

// A store removes by itself what the rules do not keep: by name, by status, and by the rule for all others.
func TestRules(t *testing.T) {
	bubble(t, func(w *world) {
		w.ended()
		w.set(operate.Retention{Rules: []operate.RetentionRule{
			{Names: []string{"Quick"}, Statuses: []client.Status{client.StatusFailed}, Age: orchestration.Off},
			{Names: []string{"Quick"}, Age: 2 * day},
			{Age: 5 * day},
		}})
		later(36 * time.Hour)
		w.ids("after a day and a half", "Quick0", "Quick1", "Slow2")
		later(day)
		w.ids("after two and a half", "Quick1", "Slow2")
		later(3 * day)
		w.ids("after five and a half", "Quick1")
		info, err := operate.New(w.c).Retention(w.T.Context())
		if err != nil || !info.On || info.Rounds < 100 || info.EndedAt.IsZero() || info.Problem != "" {
			w.T.Errorf("%+v %v, want a round each hour", info, err)
		}
	})
}

// Retention is switched off and on, and a round begins when it is asked for.
func TestOffAndOn(t *testing.T) {
	bubble(t, func(w *world) {
		w.ended()
		if err := operate.New(w.c).RunRetention(w.T.Context()); !errors.Is(err, client.ErrNotFound) {
			w.T.Errorf("running without rules: %v", err)
		}
		all := operate.Retention{Rules: []operate.RetentionRule{{Age: day}}}
		w.set(all)
		w.set(operate.Retention{})
		later(3 * day)
		w.ids("while it is off", "Quick0", "Quick1", "Slow2")
		w.set(all)
		later(10 * time.Minute)
		w.ids("when it is on again")
		w.ended()
		later(day - 10*time.Minute)
		if err := operate.New(w.c).RunRetention(w.T.Context()); err != nil {
			w.T.Error(err)
		}
		later(time.Minute)
		w.ids("a minute after it was asked, too early", "Quick0", "Quick1", "Slow2")
		later(2 * time.Hour)
		w.ids("two hours later")
	})
}

// Old executions and old audit records go, too.
func TestTrimAndAudit(t *testing.T) {
	bubble(t, func(w *world) {
		key := w.Create("eternal", "Eternal", 6)
		w.Until("it waits", func() bool { return w.Get(key).Execution == 7 })
		ann, err := w.c.As(client.Principal{Name: "ann", Role: client.RoleAdmin})
		if err != nil {
			w.T.Fatal(err)
		}
		if err := operate.New(ann).SetRetention(w.T.Context(), operate.Retention{Trim: &operate.TrimRule{Age: 2 * day, Keep: 2}, Audit: 3 * day}); err != nil {
			w.T.Fatal(err)
		}
		executions := func(when string, gone ...int64) {
			t.Helper()
			for n := int64(1); n <= 7; n++ {
				_, err := w.c.ExportHistory(w.T.Context(), "eternal", n)
				if want := len(gone) == 0 || n > gone[0]; want != (err == nil) {
					w.T.Errorf("%s: execution %d: %v, want it there: %v", when, n, err, want)
				}
			}
		}
		later(day)
		executions("after a day")
		later(day + 2*time.Hour)
		executions("after two days", 4)
		audit := func(when string, want int) {
			t.Helper()
			page, err := operate.New(w.c).Audit(w.T.Context(), operate.AuditFilter{}, client.Page{})
			if err != nil || len(page.Items) != want {
				w.T.Errorf("%s: %+v %v, want %d acts", when, page.Items, err, want)
			}
		}
		audit("after two days", 1)
		later(day)
		audit("after three days", 0)
	})
}

// An operator does not set the retention, and nobody sets an age below a day.
func TestRefused(t *testing.T) {
	bubble(t, func(w *world) {
		operator, err := w.c.As(client.Principal{Name: "bob", Role: client.RoleOperator})
		if err != nil {
			w.T.Fatal(err)
		}
		all := operate.Retention{Rules: []operate.RetentionRule{{Age: day}}}
		if err := operate.New(operator).SetRetention(w.T.Context(), all); !errors.Is(err, client.ErrForbidden) {
			w.T.Errorf("an operator sets it: %v", err)
		}
		for name, r := range map[string]operate.Retention{
			"rule 1: invalid request: age 1h0m0s": {Rules: []operate.RetentionRule{{Age: time.Hour}}},
			"audit":                               {Audit: time.Second},
			"trim":                                {Trim: &operate.TrimRule{Age: time.Minute}},
			"rate":                                {Rate: -1},
			"batch":                               {Batch: 1001},
		} {
			if err := operate.New(w.c).SetRetention(w.T.Context(), r); !errors.Is(err, client.ErrInvalid) {
				w.T.Errorf("%s: %v", name, err)
			}
		}
	})
}
