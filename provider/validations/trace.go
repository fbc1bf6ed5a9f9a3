package validations

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

// A tracer notes which method was called last, so that a failure can name it.
type tracer struct {
	*provider.Full
	stopwatch

	handles []*provider.Full // the call goes through one of them, drawn at random; nil: through the provider
	last    atomic.Value
	lacks   sync.Once
	lacking chan string // has the name of an interface once a call needed it and the provider lacks it
	ended   atomic.Bool // the provider lacks an interface, so that what follows is no failure
}

// newTracer traces a provider.
func newTracer(p *provider.Full) *tracer { return &tracer{Full: p, lacking: make(chan string, 1)} }

// full returns the traced provider. It has all calls, even those that the provider lacks.
func (c *tracer) full() *provider.Full {
	return &provider.Full{Provider: c, Asker: c, Lister: c, Meter: c, Cleaner: c, Redriver: c, Keeper: c, Opener: c, FailureGrouper: c}
}

// Unwrap makes the optional features of the provider reachable.
func (c *tracer) Unwrap() provider.Provider { return c.Provider }

// note notes a call and returns the provider.
func (c *tracer) note(method string) *provider.Full {
	c.last.Store(method)
	if len(c.handles) > 0 {
		return c.handles[rand.IntN(len(c.handles))]
	}
	return c.Full
}

// acquaint makes a handle look for everything that is stored, as a fetch that finds nothing does. A fetch that finds something may
// not know yet that there is more, which another handle has stored.
func (c *tracer) acquaint(ctx context.Context, p *provider.Full) *provider.Full {
	if len(c.handles) > 0 {
		_, _ = p.FetchTurns(ctx, provider.FetchTurnsRequest{Owner: node, Token: unique(), Lease: short, Max: 1})
	}
	return p
}

// need is note for a call of the optional interface T. If the provider lacks it, the goroutine ends and the case is skipped.
func need[T any](c *tracer, method string) *provider.Full {
	if _, ok := provider.As[T](c.Provider); !ok {
		c.lacks.Do(func() {
			c.ended.Store(true)
			c.lacking <- reflect.TypeFor[T]().String()
		})
		runtime.Goexit()
	}
	return c.note(method)
}

// after names the last call; "" if there was none.
func (c *tracer) after() string {
	if method, ok := c.last.Load().(string); ok {
		return "after " + method + ": "
	}
	return ""
}

func (c *tracer) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	defer c.lap("Create", 0)()
	return c.note("Create").Create(ctx, req)
}

func (c *tracer) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	defer c.lap("Get", req.Wait)()
	return c.note("Get").Get(ctx, req)
}

func (c *tracer) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	defer c.lap("Steer", 0)()
	return c.note("Steer").Steer(ctx, req)
}

func (c *tracer) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	c.holds(req.Lease)
	defer c.lap("FetchTurns", req.Wait)()
	return c.acquaint(ctx, c.note("FetchTurns")).FetchTurns(ctx, req)
}

func (c *tracer) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	for n := range req.Tasks {
		if lease := req.Tasks[n].Lease; lease != nil {
			c.holds(lease.Duration)
		}
	}
	defer c.lap("CommitTurn", 0)()
	return c.note("CommitTurn").CommitTurn(ctx, req)
}

func (c *tracer) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	defer c.lap("ReleaseTurns", 0)()
	return c.note("ReleaseTurns").ReleaseTurns(ctx, req)
}

func (c *tracer) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	c.holds(req.Lease, req.Sessions.Lease, req.Sessions.Idle)
	defer c.lap("FetchTasks", req.Wait)()
	return c.acquaint(ctx, c.note("FetchTasks")).FetchTasks(ctx, req)
}

func (c *tracer) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	defer c.lap("ReportTasks", 0)()
	return c.note("ReportTasks").ReportTasks(ctx, req)
}

func (c *tracer) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	c.holds(req.Lease, req.SessionLease)
	defer c.lap("RenewTasks", 0)()
	return c.note("RenewTasks").RenewTasks(ctx, req)
}

func (c *tracer) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	defer c.lap("Send", 0)()
	return c.note("Send").Send(ctx, req)
}

func (c *tracer) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	defer c.lap("Ask", req.Wait)()
	return need[provider.Asker](c, "Ask").Ask(ctx, req)
}

func (c *tracer) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	c.holds(req.Lease)
	defer c.lap("FetchAsks", req.Wait)()
	return need[provider.Asker](c, "FetchAsks").FetchAsks(ctx, req)
}

func (c *tracer) Answer(ctx context.Context, req provider.AnswerRequest) error {
	defer c.lap("Answer", 0)()
	return need[provider.Asker](c, "Answer").Answer(ctx, req)
}

func (c *tracer) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	defer c.lap("ReadHistory", 0)()
	return c.note("ReadHistory").ReadHistory(ctx, req)
}

func (c *tracer) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	defer c.lap("List", 0)()
	return need[provider.Lister](c, "List").List(ctx, req)
}

func (c *tracer) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	defer c.lap("FailureGroups", 0)()
	return need[provider.FailureGrouper](c, "FailureGroups").FailureGroups(ctx, req)
}

func (c *tracer) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	defer c.lap("Count", 0)()
	return need[provider.Lister](c, "Count").Count(ctx, req)
}

func (c *tracer) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	defer c.lap("Stats", 0)()
	return need[provider.Meter](c, "Stats").Stats(ctx, req)
}

func (c *tracer) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	defer c.lap("Delete", 0)()
	return need[provider.Cleaner](c, "Delete").Delete(ctx, req)
}

func (c *tracer) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	defer c.lap("Prune", 0)()
	return need[provider.Cleaner](c, "Prune").Prune(ctx, req)
}

func (c *tracer) DeadLetters(ctx context.Context, req provider.DeadLettersRequest) (provider.DeadLettersResult, error) {
	defer c.lap("DeadLetters", 0)()
	return need[provider.Redriver](c, "DeadLetters").DeadLetters(ctx, req)
}

func (c *tracer) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	c.holds(req.Duration)
	defer c.lap("Lease", 0)()
	return need[provider.Keeper](c, "Lease").Lease(ctx, req)
}

func (c *tracer) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	defer c.lap("Record", 0)()
	return need[provider.Keeper](c, "Record").Record(ctx, req)
}

func (c *tracer) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	defer c.lap("Reset", 0)()
	return need[provider.Opener](c, "Reset").Reset(ctx, req)
}

func (c *tracer) Fork(ctx context.Context, req provider.ForkRequest) (provider.CreateResult, error) {
	defer c.lap("Fork", 0)()
	return need[provider.Opener](c, "Fork").Fork(ctx, req)
}

func (c *tracer) Close() error {
	c.note("Close")
	err := c.Full.Close()
	for _, p := range c.handles {
		err = errors.Join(err, p.Close())
	}
	return err
}
