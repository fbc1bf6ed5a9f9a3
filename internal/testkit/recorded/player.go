package recorded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// player gives a node the turns of a stream. All other calls go to an empty store.
type player struct {
	provider.Provider

	stream  *Stream
	changes []Change
	offered chan *Turn // taken by a fetch

	mu     sync.Mutex
	turn   *Turn         // in progress; nil: none
	token  provider.UUID // that the node gave it
	made   int           // calls of the turn
	ended  chan struct{} // closed when the turn has made its recorded calls, or another one
	wrong  []string      // how the calls of the turn differ
	commit string        // of a change that one of them shows; "": none
	strays []string      // calls outside of all turns
}

// shifted is a clock that shows the time of the recording.
type shifted struct{ by time.Duration }

func (s shifted) Now() time.Time { return time.Now().Add(s.by) }

func (shifted) Timer(d time.Duration) (fired <-chan time.Time, stop func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

func newPlayer(s *Stream, clock shifted, changes []Change) *player {
	return &player{Provider: memory.New(memory.Options{Clock: clock}), stream: s, changes: changes, offered: make(chan *Turn)}
}

// Unwrap returns the store of the other calls.
func (p *player) Unwrap() provider.Provider { return p.Provider }

// begin begins a turn. The result is closed when it is over.
func (p *player) begin(t *Turn) (ended <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn, p.token, p.made, p.ended, p.wrong, p.commit = t, provider.UUID{}, 0, make(chan struct{}), nil, ""
	return p.ended
}

// end ends the turn. It returns how the calls of the node differ from the recorded ones; "": they do not. It also returns the commit of
// a change that they show.
func (p *player) end() (what, commit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.turn.Calls[min(p.made, len(p.turn.Calls)):] {
		p.wrong = append(p.wrong, fmt.Sprintf("not made: %s %s", c.Name, c.Request))
	}
	p.turn = nil
	return strings.Join(p.wrong, "\n"), p.commit
}

// call compares a call of the turn with the recorded one, and returns that. It is nil if there is none, or another one: then the turn is over.
func (p *player) call(name string, req any) *Call {
	p.made++
	over := func() {
		select {
		case <-p.ended:
		default:
			close(p.ended)
		}
	}
	if p.made > len(p.turn.Calls) {
		p.wrong = append(p.wrong, fmt.Sprintf("not recorded: %s %s", name, encode(req)))
		over()
		return nil
	}
	if p.made == len(p.turn.Calls) {
		over()
	}
	recorded := &p.turn.Calls[p.made-1]
	if recorded.Name != name {
		p.wrong = append(p.wrong, fmt.Sprintf("%s %s instead of %s %s", name, encode(req), recorded.Name, recorded.Request))
		over()
		return nil
	}
	diff, commit := compare(recorded.Request, p.turn.Token, req, p.token, p.changes)
	p.commit = cmp.Or(commit, p.commit)
	if diff != "" {
		p.wrong = append(p.wrong, name+" differs (-recorded +made):\n"+diff)
	}
	return recorded
}

// answer returns the recorded result of a call. A node that makes another call is told that its turn is void.
func answer[T any](c *Call) (res T, err error) {
	switch {
	case c == nil:
		return res, provider.ErrConflict
	case c.Refusal != "":
		return res, refusals[c.Refusal]
	case c.Result == nil:
		return res, nil
	}
	return decode[T](c.Result)
}

// FetchTurns implements provider.Provider.
func (p *player) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (res provider.FetchTurnsResult, err error) {
	timer := time.NewTimer(req.Wait)
	defer timer.Stop()
	select {
	case t := <-p.offered:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.token = req.Token
		turn, err := decode[provider.Turn](encode(t.Fetched))
		return provider.FetchTurnsResult{Turns: []provider.Turn{turn}, Now: t.Now}, err
	case <-timer.C:
		return res, nil
	case <-ctx.Done():
		return res, ctx.Err()
	}
}

// ReadHistory implements provider.Provider.
func (p *player) ReadHistory(_ context.Context, req provider.ReadHistoryRequest) (res provider.ReadHistoryResult, err error) {
	events, ok := p.stream.Histories[historyOf(req.Key, req.Execution)]
	if !ok || req.To > int64(len(events)) {
		return res, provider.ErrNotFound
	}
	for i := req.From; i <= req.To; i++ {
		res.Events = append(res.Events, provider.Event{ID: i, Data: slices.Clone(events[i-1])})
	}
	return res, nil
}

// Get implements provider.Provider.
func (p *player) Get(ctx context.Context, req provider.GetRequest) (res provider.GetResult, err error) {
	p.mu.Lock()
	stored := (*provider.GetResult)(nil)
	if p.turn != nil {
		stored = p.turn.Stored
	}
	p.mu.Unlock()
	if stored == nil || stored.Instance.Key != req.Key {
		return p.Provider.Get(ctx, req)
	}
	if res, err = decode[provider.GetResult](encode(stored)); err != nil {
		return res, err
	}
	if !req.WithTasks {
		res.Tasks, res.DeadLetters = nil, 0
	}
	if !req.WithValues {
		res.Values = nil
	}
	return res, nil
}

// CommitTurn implements provider.Provider.
func (p *player) CommitTurn(_ context.Context, req provider.CommitTurnRequest) (res provider.CommitTurnResult, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == nil || p.token != req.Lease {
		p.strays = append(p.strays, fmt.Sprintf("CommitTurn %s", encode(&req)))
		return res, provider.ErrConflict
	}
	return answer[provider.CommitTurnResult](p.call("CommitTurn", &req))
}

// ReleaseTurns implements provider.Provider.
func (p *player) ReleaseTurns(_ context.Context, req provider.ReleaseTurnsRequest) (res provider.ReleaseTurnsResult, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	res.Errs = make([]error, len(req.Items))
	for i := range req.Items {
		if item := &req.Items[i]; p.turn != nil && p.token == item.Token {
			if c := p.call("ReleaseTurns", item); c != nil && c.Refusal != "" {
				return res, refusals[c.Refusal]
			}
		}
	}
	return res, nil
}

// Send implements provider.Provider.
func (p *player) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	p.mu.Lock()
	if p.turn == nil || !endsCall(p.turn, &req) {
		p.mu.Unlock()
		return p.Provider.Send(ctx, req)
	}
	defer p.mu.Unlock()
	return answer[provider.SendResult](p.call("Send", &req))
}

// Create implements provider.Provider.
func (p *player) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	p.mu.Lock()
	if p.turn == nil || p.turn.First == nil || req.First == nil {
		p.mu.Unlock()
		return p.Provider.Create(ctx, req)
	}
	defer p.mu.Unlock()
	return answer[provider.CreateResult](p.call("Create", &req))
}
