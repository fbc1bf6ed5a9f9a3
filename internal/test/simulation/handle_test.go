package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// handle is the store as one node or client sees it. All of its calls stop at the gate.
type handle struct {
	*provider.Full

	name  string
	gate  *gate
	store provider.Provider
	dead  bool      // guarded by the gate, as is the next
	from  time.Time // when its calls go on

	listeners map[*func(provider.Notice)]struct{} // guarded by the gate
}

func newHandle(name string, g *gate, store provider.Provider) *handle {
	return &handle{Full: provider.FullOf(store), name: name, gate: g, store: store, listeners: make(map[*func(provider.Notice)]struct{})}
}

// Unwrap returns the store.
func (h *handle) Unwrap() provider.Provider { return h.store }

// isDead reports whether the handle was cut off.
func (h *handle) isDead() bool {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	return h.dead
}

// changes reports whether a call may change the store.
func (c *call) changes() bool {
	switch req := c.req.(type) {
	case provider.GetRequest, provider.ReadHistoryRequest, provider.ListRequest, provider.CountRequest, provider.StatsRequest:
		return false
	case provider.RecordRequest:
		return req.Action == provider.RecordPut || req.Action == provider.RecordDelete
	default:
		return true
	}
}

// did notes that a call was carried out.
func (c *call) did(f fate, res any, err error) {
	how := map[fate]string{goOn: "", goLate: ", reply late", failAfter: ", reply lost", dieAfter: ", caller dead"}[f]
	if c.op != "ask" { // its end comes together with the answer, in any order
		c.of.gate.notef("%s %s: %s%s", c.of.name, c.label, c.of.gate.outcome(res, err), how)
	}
	if c.changes() {
		c.of.gate.changed()
	}
}

// through makes one call that does not wait in the store.
func through[Req, Res any](ctx context.Context, h *handle, op string, req Req, do func(context.Context, Req) (Res, error)) (Res, error) {
	var none Res
	c := &call{of: h, op: op, req: req}
	f, ok := h.gate.stop(ctx, c)
	switch {
	case !ok:
		return none, ctx.Err()
	case f == open:
		return do(ctx, req)
	case f == failBefore || f == dieBefore:
		return none, lost(op)
	case f == dieAfter:
		ctx = context.WithoutCancel(ctx)
	}
	res, err := do(ctx, req)
	if op == "ask" && f == goOn {
		f = goLate // the call that answered goes on at the same moment
	}
	c.did(f, res, err)
	return reply(ctx, c, f, res, err)
}

// waiting makes one call that may wait for something. Instead of waiting in the store, it looks each time that the gate lets it.
func waiting[Req, Res any](
	ctx context.Context, h *handle, op string, req Req, wait time.Duration, look func(context.Context, time.Duration) (Res, bool, error),
) (res Res, err error) {
	if wait <= 0 {
		return through(ctx, h, op, req, func(ctx context.Context, _ Req) (Res, error) {
			res, _, err := look(ctx, 0)
			return res, err
		})
	}
	var none Res
	until := time.Now().Add(min(wait, provider.MaxWait))
	c := &call{of: h, op: op, req: req}
	c.poll = func() bool {
		var found bool
		res, found, err = look(context.WithoutCancel(ctx), 0)
		if over := found || err != nil; over || !time.Now().Before(until) {
			c.did(goOn, res, err)
			return true
		}
		return false
	}
	f, ok := h.gate.stop(ctx, c)
	switch {
	case !ok:
		return none, ctx.Err()
	case f == open:
		res, _, err = look(ctx, max(0, time.Until(until)))
		return res, err
	case f == failBefore || f == dieBefore || f == dieAfter:
		return none, lost(op)
	}
	return reply(ctx, c, f, res, err)
}

// reply gives a caller its reply, now or later.
func reply[Res any](ctx context.Context, c *call, f fate, res Res, err error) (Res, error) {
	var none Res
	if f == goLate {
		again := &call{of: c.of, op: c.op, req: c.req, reply: true}
		var ok bool
		if f, ok = c.of.gate.stop(ctx, again); !ok {
			return none, ctx.Err()
		}
	}
	if f == failAfter || f == failBefore || f == dieBefore || f == dieAfter {
		return none, lost(c.op)
	}
	return res, err
}

// outcome describes a result without what is drawn at random.
func (g *gate) outcome(res any, err error) string {
	if err != nil {
		for _, known := range []error{
			provider.ErrConflict, provider.ErrLeaseLost, provider.ErrInboxNotEmpty, provider.ErrInboxFull, provider.ErrExists, provider.ErrEnded,
			provider.ErrRunning, provider.ErrNoAnswer, provider.ErrInvalid, provider.ErrTooLarge, provider.ErrClosed, provider.ErrNotFound,
			context.Canceled, context.DeadlineExceeded,
		} {
			if errors.Is(err, known) {
				return known.Error()
			}
		}
		return "error"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch res := res.(type) {
	case provider.FetchTurnsResult:
		text := "turns"
		for i := range res.Turns {
			text += fmt.Sprintf(" %s(%d)", g.names.key(res.Turns[i].Instance.Key), len(res.Turns[i].Messages))
		}
		return text
	case provider.FetchTasksResult:
		text := "tasks"
		for i := range res.Tasks {
			text += fmt.Sprintf(" %s#%d.%d", g.names.task(res.Tasks[i].TaskRef), res.Tasks[i].Attempt, res.Tasks[i].Deliveries)
		}
		return text
	case provider.FetchAsksResult:
		return fmt.Sprint("questions ", len(res.Asks))
	case provider.ReportTasksResult:
		text := "ok"
		for i := range res.Items {
			if res.Items[i].Err != nil {
				text += " refused"
			}
		}
		return text
	case provider.GetResult:
		return fmt.Sprintf("%v execution=%d length=%d", res.Instance.Status, res.Instance.Execution, res.Instance.HistoryLength)
	}
	return "ok"
}

// Create implements provider.Provider.
func (h *handle) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	return through(ctx, h, "create", req, h.Full.Create)
}

// Get implements provider.Provider. An ID means the same instance each time that it looks.
func (h *handle) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	wait := req.Wait
	if !req.Waits() {
		wait = 0
	}
	sent := req
	return waiting(ctx, h, "get", sent, wait, func(ctx context.Context, wait time.Duration) (provider.GetResult, bool, error) {
		req.Wait = wait
		res, err := h.Full.Get(ctx, req)
		if err == nil {
			req.Key = res.Instance.Key
		}
		return res, req.Ends(&res), err
	})
}

// Steer implements provider.Provider.
func (h *handle) Steer(ctx context.Context, req provider.SteerRequest) (provider.SteerResult, error) {
	return through(ctx, h, "steer", req, h.Full.Steer)
}

// FetchTurns implements provider.Provider.
func (h *handle) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	return waiting(ctx, h, "fetch turns", req, req.Wait, func(ctx context.Context, wait time.Duration) (provider.FetchTurnsResult, bool, error) {
		req := req
		req.Wait = wait
		res, err := h.Full.FetchTurns(ctx, req)
		return res, len(res.Turns) > 0, err
	})
}

// CommitTurn implements provider.Provider.
func (h *handle) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	return through(ctx, h, "commit", req, h.Full.CommitTurn)
}

// ReleaseTurns implements provider.Provider.
func (h *handle) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	return through(ctx, h, "release", req, h.Full.ReleaseTurns)
}

// FetchTasks implements provider.Provider.
func (h *handle) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	return waiting(ctx, h, "fetch tasks", req, req.Wait, func(ctx context.Context, wait time.Duration) (provider.FetchTasksResult, bool, error) {
		req := req
		req.Wait = wait
		res, err := h.Full.FetchTasks(ctx, req)
		return res, len(res.Tasks) > 0, err
	})
}

// ReportTasks implements provider.Provider.
func (h *handle) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	return through(ctx, h, "report", req, h.Full.ReportTasks)
}

// RenewTasks implements provider.Provider.
func (h *handle) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	return through(ctx, h, "renew", req, h.Full.RenewTasks)
}

// Send implements provider.Provider.
func (h *handle) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return through(ctx, h, "send", req, h.Full.Send)
}

// ReadHistory implements provider.Provider.
func (h *handle) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return through(ctx, h, "read history", req, h.Full.ReadHistory)
}

// Ask implements provider.Asker. It waits in the store: only its own answer wakes it.
func (h *handle) Ask(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
	return through(ctx, h, "ask", req, func(ctx context.Context, req provider.AskRequest) (provider.AskResult, error) {
		h.gate.notef("%s ask %s", h.name, h.gate.target(req.ID, req.Key))
		h.gate.changed()
		return h.Full.Ask(ctx, req)
	})
}

// target is names.target under the lock.
func (g *gate) target(id string, key provider.UUID) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.names.target(id, key)
}

// FetchAsks implements provider.Asker.
func (h *handle) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (provider.FetchAsksResult, error) {
	return waiting(ctx, h, "fetch asks", req, req.Wait, func(ctx context.Context, wait time.Duration) (provider.FetchAsksResult, bool, error) {
		req := req
		req.Wait = wait
		res, err := h.Full.FetchAsks(ctx, req)
		return res, len(res.Asks) > 0, err
	})
}

// Answer implements provider.Asker.
func (h *handle) Answer(ctx context.Context, req provider.AnswerRequest) error {
	_, err := through(ctx, h, "answer", req, func(ctx context.Context, req provider.AnswerRequest) (struct{}, error) {
		return struct{}{}, h.Full.Answer(ctx, req)
	})
	return err
}

// List implements provider.Lister.
func (h *handle) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	return through(ctx, h, "list", req, h.Full.List)
}

// Count implements provider.Lister.
func (h *handle) Count(ctx context.Context, req provider.CountRequest) (provider.CountResult, error) {
	return through(ctx, h, "count", req, h.Full.Count)
}

// Stats implements provider.Meter.
func (h *handle) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	return through(ctx, h, "stats", req, h.Full.Stats)
}

// Lease implements provider.Keeper.
func (h *handle) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	return through(ctx, h, "lease", req, h.Full.Lease)
}

// Record implements provider.Keeper.
func (h *handle) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	return through(ctx, h, "record", req, h.Full.Record)
}

// Reset implements provider.Opener.
func (h *handle) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	return through(ctx, h, "reset", req, h.Full.Reset)
}

// Fork implements provider.Opener.
func (h *handle) Fork(ctx context.Context, req provider.ForkRequest) (provider.CreateResult, error) {
	return through(ctx, h, "fork", req, h.Full.Fork)
}

// Close implements provider.Provider. The store is that of all.
func (h *handle) Close() error { return nil }

// Notify implements provider.Notifier.
func (h *handle) Notify(fn func(provider.Notice)) (stop func()) {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	h.listeners[&fn] = struct{}{}
	return func() {
		h.gate.mu.Lock()
		defer h.gate.mu.Unlock()
		delete(h.listeners, &fn)
	}
}

// notice stops a notice of the store on its way to a node.
func (h *handle) notice(n provider.Notice) {
	g := h.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if h.dead || g.opened || len(h.listeners) == 0 {
		return
	}
	c := &call{of: h, op: "notice", req: g.names.task(provider.TaskRef(n)), chosen: make(chan fate, 1)}
	c.poll = func() bool {
		c.of.gate.notef("%s %s: told", h.name, c.label)
		for _, fn := range h.told() {
			fn(n)
		}
		return true
	}
	g.waiting = append(g.waiting, c)
}

func (h *handle) told() (list []func(provider.Notice)) {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	for fn := range h.listeners {
		list = append(list, *fn)
	}
	return list
}

// run stops an attempt of an activity before its code.
func (h *handle) run(ctx context.Context, what string) error {
	_, err := through(ctx, h, "run", what, func(context.Context, string) (struct{}, error) { return struct{}{}, nil })
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
