// Package dsl runs plans that are data: who writes one needs no deploy. Its steps call activities by their names, with
// orchestration.CallActivityNamed. An orchestration.Group does several at a time. For a language with conditions, loops and timeouts that
// others have standardized, see model/serverless.
package dsl

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

// Plan is what an instance does. It is the input of the instance, so a later plan does not reach it.
type Plan struct {
	Values map[string]string `json:"values"`
	Root   Step              `json:"root"`
}

// Step is one of three: a call, steps one after the other, or steps at the same time.
type Step struct {
	Call     *Call  `json:"call,omitempty"`
	Sequence []Step `json:"sequence,omitempty"`
	Parallel []Step `json:"parallel,omitempty"`
}

// Call gives values to an activity, and stores its result as a value.
type Call struct {
	Activity string   `json:"activity"`
	Args     []string `json:"args"`
	Result   string   `json:"result"`
}

// Run returns the values at the end. Steps at the same time must not need each other's results.
func Run(ctx *orchestration.Context, p Plan) (map[string]string, error) {
	if p.Values == nil {
		p.Values = map[string]string{}
	}
	return p.Values, p.Root.run(ctx, p.Values)
}

func (s Step) run(ctx *orchestration.Context, values map[string]string) error {
	switch {
	case s.Call != nil:
		return s.Call.run(ctx, values)
	case len(s.Sequence) > 0:
		for _, next := range s.Sequence {
			if err := next.run(ctx, values); err != nil {
				return err
			}
		}
		return nil
	case len(s.Parallel) > 0:
		g := orchestration.NewGroup(ctx)
		for _, branch := range s.Parallel {
			g.Go(func(ctx *orchestration.Context) error { return branch.run(ctx, values) })
		}
		return g.Wait()
	}
	return errors.New("a step has neither call nor sequence nor parallel")
}

func (c *Call) run(ctx *orchestration.Context, values map[string]string) error {
	args := make([]string, len(c.Args))
	for i, name := range c.Args {
		value, ok := values[name]
		if !ok {
			return fmt.Errorf("activity %s needs the value %s, which nothing has set", c.Activity, name)
		}
		args[i] = value
	}
	result, err := orchestration.CallActivityNamed[string](ctx, c.Activity, args, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
	if err == nil && c.Result != "" {
		values[c.Result] = result
	}
	return err
}
