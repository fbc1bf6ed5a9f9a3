package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider"
)

// checkInvariants reads the whole store and reports each broken promise.
func (k *killing) checkInvariants(ctx context.Context, o invariant.Options) {
	k.t.Helper()
	report, err := invariant.Check(ctx, provider.FullOf(k.store), o)
	if err != nil {
		k.t.Errorf("checking the store: %v", err)
	}
	if k.cluster != nil { // the janitor removes a question that could not be withdrawn while the server was down
		asks := func(f invariant.Finding) bool {
			return f.Rule == invariant.Leftover && f.Detail == "an ask without a waiting caller"
		}
		report.Findings = slices.DeleteFunc(report.Findings, asks)
	}
	for _, f := range report.Findings[:min(len(report.Findings), 20)] {
		k.t.Errorf("the store is broken: %v", f)
	}
	for _, s := range report.Skipped {
		if o.Idle {
			k.t.Errorf("not checked: %s", s)
		} else {
			k.t.Logf("not checked: %s", s)
		}
	}
	k.t.Logf("checked %d instances, %d executions and %d events: %d findings",
		report.Instances, report.Executions, report.Events, len(report.Findings))
}

// expected returns an error if an ended instance has the wrong outcome.
func (k *killing) expected(i provider.Instance, o history.Outcome) error {
	switch i.Name {
	case "Run":
		at := slices.IndexFunc(k.courses, func(c *course) bool { return c.id() == i.ID })
		if at < 0 {
			return fmt.Errorf("it was never started")
		}
		return k.courses[at].fate().check(i.Status, o.Output)
	case "Leaf": // its output is in the sum of its plan
		return oneOf(i.Status, provider.StatusCompleted, provider.StatusCancelled)
	case "Broken":
		return oneOf(i.Status, provider.StatusFailed, provider.StatusCancelled)
	default:
		return oneOf(i.Status, provider.StatusCancelled)
	}
}

func oneOf(got provider.Status, allowed ...provider.Status) error {
	if !slices.Contains(allowed, got) {
		return fmt.Errorf("it is %s, must be one of %v", got, allowed)
	}
	return nil
}

// check compares a stored outcome.
func (f fate) check(status provider.Status, output []byte) error {
	if status != f.status {
		return fmt.Errorf("it is %s, must be %s", status, f.status)
	}
	if status != provider.StatusCompleted {
		return nil
	}
	var sum uint64
	if err := json.Unmarshal(output, &sum); err != nil {
		return err
	}
	if sum != f.sum {
		return fmt.Errorf("it ended with %d, must be %d", sum, f.sum)
	}
	return nil
}
