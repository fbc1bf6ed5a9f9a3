package recorded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Recorder decorates the provider of one node. The node gets one turn at a time.
type Recorder struct {
	provider.Provider

	free chan struct{} // has one while no turn is in progress

	mu     sync.Mutex
	stream Stream
	turn   *Turn // in progress; nil: none
}

// NewRecorder makes a recorder for a node with the code that source names.
func NewRecorder(store provider.Provider, source any) *Recorder {
	r := &Recorder{Provider: store, free: make(chan struct{}, 1)}
	r.stream.Source, r.stream.Histories = encode(source), map[string][][]byte{}
	r.free <- struct{}{}
	return r
}

// Unwrap returns the decorated provider.
func (r *Recorder) Unwrap() provider.Provider { return r.Provider }

// Stream returns what was recorded, after the node has stopped. A turn that has not ended is left out.
func (r *Recorder) Stream() *Stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream.Turns = slices.DeleteFunc(r.stream.Turns, func(t *Turn) bool { return t == r.turn })
	return &r.stream
}

// FetchTurns implements provider.Provider.
func (r *Recorder) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (res provider.FetchTurnsResult, err error) {
	timer := time.NewTimer(req.Wait)
	defer timer.Stop()
	select {
	case <-r.free:
	case <-timer.C:
		return res, nil
	case <-ctx.Done():
		return res, ctx.Err()
	}
	req.Max, req.Ahead = 1, 0
	res, err = r.Provider.FetchTurns(ctx, req)
	if err == nil && len(res.Turns) > 0 && !suspect(&res.Turns[0].Instance) {
		if err := r.begin(ctx, &res, req.Token); err == nil {
			return res, nil
		}
	}
	r.free <- struct{}{}
	return res, err
}

// suspect reports whether an instance lost so many nodes that its turn depends on what else the node runs.
func suspect(inst *provider.Instance) bool { return inst.Deliveries > 3 }

// begin records a fetched turn with what the node may read for it.
func (r *Recorder) begin(ctx context.Context, res *provider.FetchTurnsResult, token provider.UUID) error {
	fetched, err := decode[provider.Turn](encode(&res.Turns[0]))
	if err != nil {
		return err
	}
	t := &Turn{Now: res.Now, Token: token, Fetched: &fetched}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.look(ctx), r.read(ctx, &fetched.Instance)); err != nil {
		return err
	}
	if slices.ContainsFunc(fetched.Messages, readsMore) {
		stored, err := r.Provider.Get(ctx, provider.GetRequest{Key: fetched.Instance.Key, WithTasks: true, WithValues: true})
		if err != nil {
			return err
		}
		t.Stored = &stored
	}
	r.turn, r.stream.Turns = t, append(r.stream.Turns, t)
	return nil
}

// look reads the level that the store allows.
func (r *Recorder) look(ctx context.Context) error {
	if r.stream.Level > 0 {
		return nil
	}
	status, err := upgrade.ReadStatus(ctx, provider.FullOf(r.Provider))
	r.stream.Level = status.Allowed
	return err
}

// readsMore reports whether a node reads more than the history because of the message.
func readsMore(m provider.Message) bool {
	kind := history.Kind(m.Kind)
	return kind == history.KindUpdateReceived || kind == history.KindActivityCancelRequested
}

// read reads the events of an execution that are not recorded yet.
func (r *Recorder) read(ctx context.Context, inst *provider.Instance) error {
	of := historyOf(inst.Key, inst.Execution)
	for int64(len(r.stream.Histories[of])) < inst.HistoryLength {
		page, err := r.ReadHistory(ctx, provider.ReadHistoryRequest{
			Key: inst.Key, Execution: inst.Execution, From: int64(len(r.stream.Histories[of])) + 1, To: inst.HistoryLength,
		})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			r.stream.Histories[of] = append(r.stream.Histories[of], e.Data)
		}
	}
	return nil
}

// note records a call of the turn in progress, which it ends. A turn is left out if its call failed for another reason than a refusal.
func (r *Recorder) note(name string, ends bool, req, res json.RawMessage, err error) {
	refusal, told := refusalOf(err)
	if err != nil {
		res = nil
	}
	r.turn.Calls = append(r.turn.Calls, Call{Name: name, Request: req, Result: res, Refusal: refusal})
	if !told {
		turn := r.turn
		r.stream.Turns = slices.DeleteFunc(r.stream.Turns, func(t *Turn) bool { return t == turn })
	}
	if ends && err == nil || !told {
		r.turn = nil
		r.free <- struct{}{}
	}
}

// CommitTurn implements provider.Provider.
func (r *Recorder) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	asked := encode(&req) // before: the store may keep what the request has
	res, err := r.Provider.CommitTurn(ctx, req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn != nil && r.turn.Token == req.Lease {
		r.note("CommitTurn", true, asked, encode(res), err)
	}
	return res, err
}

// ReleaseTurns implements provider.Provider.
func (r *Recorder) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	res, err := r.Provider.ReleaseTurns(ctx, req)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range req.Items {
		if item := &req.Items[i]; r.turn != nil && r.turn.Token == item.Token {
			r.note("ReleaseTurns", true, encode(item), nil, err)
		}
	}
	return res, err
}

// Get implements provider.Provider.
func (r *Recorder) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	res, err := r.Provider.Get(ctx, req)
	if err != nil || !req.WithTasks {
		return res, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn != nil && r.turn.Stored != nil && r.turn.Stored.Instance.Key == res.Instance.Key {
		r.turn.Stored.Tasks = res.Tasks // they may have changed since the fetch
	}
	return res, nil
}

// Send implements provider.Provider.
func (r *Recorder) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	res, err := r.Provider.Send(ctx, req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn != nil && endsCall(r.turn, &req) {
		r.note("Send", false, encode(&req), encode(res), err)
	}
	return res, err
}

// endsCall reports whether a turn sends the message to its own instance, because a cancelled activity has never begun.
func endsCall(t *Turn, req *provider.SendRequest) bool {
	return t.Fetched != nil && t.Fetched.Instance.Key == req.Key && history.Kind(req.Message.Kind) == history.KindActivityFailed
}

// Create implements provider.Provider.
func (r *Recorder) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if req.First == nil {
		return r.Provider.Create(ctx, req)
	}
	call := Call{Name: "Create", Request: encode(&req)}
	begun, first := req.First.Events[0], req
	first.First = nil
	t, failed := firstTurn(begun, &first)
	r.mu.Lock()
	failed = errors.Join(failed, r.look(ctx))
	r.mu.Unlock()
	res, err := r.Provider.Create(ctx, req)
	var told bool
	if call.Refusal, told = refusalOf(err); !told || failed != nil {
		return res, err
	}
	if err == nil {
		call.Result = encode(res)
	}
	t.Calls = []Call{call}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, _ := slices.BinarySearchFunc(r.stream.Turns, t.Now, func(t *Turn, now provider.Time) int { return cmp.Compare(t.Now, now) })
	r.stream.Turns = slices.Insert(r.stream.Turns, at, t) // before turns of its children
	return res, err
}

// firstTurn returns the first turn of an instance, without its call. It began at the time of its first event.
func firstTurn(event []byte, req *provider.CreateRequest) (*Turn, error) {
	e, err := history.Decode(1, event)
	if err != nil {
		return nil, err
	}
	first, err := decode[provider.CreateRequest](encode(req))
	return &Turn{Now: provider.Time(e.At), First: &first}, err
}
