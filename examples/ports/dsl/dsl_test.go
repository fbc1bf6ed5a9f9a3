package dsl_test

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/dsl"
	"github.com/perdure/perdure/orchestrationtest"
)

const plan = `{
	"values": {"name": "ann"},
	"root": {"sequence": [
		{"call": {"activity": "greet", "args": ["name"], "result": "greeting"}},
		{"parallel": [
			{"call": {"activity": "shout", "args": ["greeting"], "result": "loud"}},
			{"call": {"activity": "shout", "args": ["name"], "result": "name"}}
		]},
		{"call": {"activity": "greet", "args": ["name", "loud"], "result": "end"}}
	]}
}`

func TestPlan(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		hour := orchestrationtest.Delay(time.Hour)
		orchestrationtest.ReplaceNamed(e, "greet", func(_ context.Context, args []string) (string, error) {
			return "hello " + strings.Join(args, ", "), nil
		}, hour)
		orchestrationtest.ReplaceNamed(e, "shout", func(_ context.Context, args []string) (string, error) {
			return strings.ToUpper(args[0]), nil
		}, hour)
		var p dsl.Plan
		if err := json.Unmarshal([]byte(plan), &p); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, err := orchestrationtest.Start(e, dsl.Run, p).Wait(e.Context())
		want := map[string]string{"name": "ANN", "greeting": "hello ann", "loud": "HELLO ANN", "end": "hello ANN, HELLO ANN"}
		if !maps.Equal(got, want) || err != nil || time.Since(began) != 3*time.Hour {
			t.Errorf("%v, %v after %v", got, err, time.Since(began))
		}
	})
}

func TestPlanWithoutSense(t *testing.T) {
	for want, root := range map[string]dsl.Step{
		"a step has neither call":   {},
		"which nothing has set":     {Parallel: []dsl.Step{{Call: &dsl.Call{Activity: "greet", Args: []string{"nobody"}}}}},
		"a step has neither call n": {Sequence: []dsl.Step{{}}},
	} {
		orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
			if _, err := orchestrationtest.Start(e, dsl.Run, dsl.Plan{Root: root}).Wait(e.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}
