package retention_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	form "github.com/perdure/perdure/internal/retention"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

var errKilled = errors.New("the node was killed")

// attempt makes one attempt of a step from what was stored last, which removed is called with before each removal. If removed
// returns an error, the attempt is lost there. It returns what is stored then, or what the step returned.
func (w *world) attempt(from *form.Stepped, removed func(*form.Plan) error) (stored *form.Stepped, err error) {
	w.T.Helper()
	decode := func(text []byte) *form.Stepped {
		var s form.Stepped
		if err := json.Unmarshal(text, &s); err != nil {
			w.T.Fatal(err)
		}
		return &s
	}
	var before []byte
	if from != nil {
		if before, err = json.Marshal(from); err != nil {
			w.T.Fatal(err)
		}
	}
	stored = from
	text, err := access.OwnStepsOf(operate.New(w.c)).Retention(w.T.Context(), []byte("{}"), before, func(text []byte, store bool) error {
		if !store {
			w.T.Error("progress may be lost")
		}
		stored = decode(text)
		return removed(stored.Plan)
	})
	if err == nil {
		stored = decode(text)
	}
	return stored, err
}

// lose removes a part of a plan, as a node does that is killed in the middle of a removal.
func (w *world) lose(p *form.Plan) {
	w.T.Helper()
	for n := 1; n < len(p.Trees); n++ {
		if _, err := w.Store.Delete(w.T.Context(), provider.DeleteRequest{Key: p.Trees[n].Key}); err != nil {
			w.T.Error(err)
		}
	}
	if len(p.Executions) > 0 {
		trimmer, _ := provider.As[provider.Trimmer](w.Store)
		if _, err := trimmer.Trim(w.T.Context(), provider.TrimRequest{Age: day, Max: 1}); err != nil {
			w.T.Error(err)
		}
	}
	for n := 0; n < len(p.Records); n += 2 {
		_, err := w.Store.Record(w.T.Context(), provider.RecordRequest{Action: provider.RecordDelete, Namespace: "perdure/audit", Key: p.Records[n], Expect: 2})
		if err != nil {
			w.T.Error(err)
		}
	}
}

// Parent starts a child and waits for it, so that two instances go together.
func Parent(ctx *orchestration.Context, _ none) (none, error) {
	return orchestration.CallOrchestration(ctx, Slow, none{})
}

// A round counts what it removes once, although a node is killed in the middle of each removal.
func TestHazard87_KilledStepsCountExactly(t *testing.T) {
	bubble(t, func(w *world) {
		w.ended()
		for _, id := range []string{"p1", "p2", "p3"} {
			w.WaitEnded(w.Create(id, "Parent", none{}))
		}
		key := w.Create("eternal", "Eternal", 6)
		w.Until("it waits", func() bool { return w.Get(key).Execution == 7 })
		ann, err := w.c.As(client.Principal{Name: "ann", Role: client.RoleAdmin})
		if err != nil {
			w.T.Fatal(err)
		}
		for range 5 {
			if err := ann.Suspend(w.T.Context(), "eternal", "audited"); err != nil {
				w.T.Fatal(err)
			}
		}
		later(2 * day)
		w.rules(&form.Rules{Rules: []form.Rule{{Age: day}}, Trim: &form.Trim{Age: day, Keep: 1}, Audit: day, Batch: 4, Rate: 1000})
		var got form.Removed
		var at *form.Stepped
		for plans := 0; ; {
			stored, err := w.attempt(at, func(p *form.Plan) error {
				if plans++; plans%2 == 0 || plans > 50 {
					return nil
				}
				w.lose(p)
				return errKilled
			})
			switch at = stored; {
			case err != nil && !errors.Is(err, errKilled):
				w.T.Fatal(err)
			case err == nil:
				got, at = got.Plus(stored.Removed), &form.Stepped{To: stored.To}
			}
			if err == nil && stored.Over {
				break
			}
		}
		want := form.Removed{Instances: 9, Executions: 5, Audit: 5}
		if got.Freed = 0; got != want {
			w.T.Errorf("%+v, want %+v", got, want)
		}
		w.ids("at the end", "eternal")
	})
}

// rules stores rules without starting the orchestration of the node.
func (w *world) rules(r *form.Rules) {
	w.T.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		w.T.Fatal(err)
	}
	_, err = w.Store.Record(w.T.Context(), provider.RecordRequest{Action: provider.RecordPut, Namespace: form.Space, Key: form.Record, Value: text})
	if err != nil {
		w.T.Fatal(err)
	}
}
