package operate

import (
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// fleet has the nodes of a store, which are read once, when somebody needs them. It is for one goroutine.
type fleet struct {
	read  bool
	nodes []upgrade.Node // that are not lost
	err   error
}

func (f *fleet) of(ctx context.Context, c *access.Caller, op string) ([]upgrade.Node, error) {
	if !f.read {
		nodes, now, err := c.Store.Nodes(ctx, op)
		f.read, f.nodes, f.err = true, slices.DeleteFunc(nodes, func(n upgrade.Node) bool { return n.Lost(now) }), err
	}
	return f.nodes, f.err
}

// problem says why a job that is not over does not go on, "" if nothing is known to hold it up. A store whose nodes cannot be read tells of
// none: the job is worth showing without that.
func (b Bulk) problem(ctx context.Context, op string, f *fleet, i *provider.Instance, tasks []provider.TaskInfo) string {
	if nodes, err := f.of(ctx, b.c, op); err == nil {
		runs := func(n upgrade.Node) bool {
			return n.Runs(provider.Capability{Name: reserved.Bulk, CodeVersion: i.CodeVersion})
		}
		switch {
		case len(nodes) == 0:
			return "it waits for a node: none is listed that runs: start one"
		case !slices.ContainsFunc(nodes, runs):
			return fmt.Sprintf("it waits for a node that runs version %s of bulk jobs: all %d that are listed are of releases without it: start a newer one",
				i.CodeVersion, len(nodes))
		}
	}
	for n := range tasks {
		if len(tasks[n].Failure) == 0 {
			continue
		}
		text := "its error cannot be read"
		if r, err := history.DecodeRetried(tasks[n].Failure); err == nil {
			text = r.Failure.Message
		}
		return fmt.Sprintf("its step is tried again (attempt %d): %s", tasks[n].Attempt, text)
	}
	return ""
}
