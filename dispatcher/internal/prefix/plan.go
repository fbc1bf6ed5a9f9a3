package prefix

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Plan opens an execution from the history of an instance.
type Plan struct {
	Branch replay.Branch
	Inst   *provider.Instance  // the origin
	Events []history.Event     // of its current execution
	Values []provider.KeyValue // of the origin

	opened  []history.Event // the new history
	out     provider.Prefix
	links   []provider.ChildLink
	level   int64
	updates []update
	begun   map[int64]history.Event        // the replies to the starts of children, by the event that started them
	added   struct{ headers, origins int } // bytes in the payloads of tasks

	LeftOut int // headers, because all together are too large
}

// Check returns why no execution can open at the event of the branch, "" if one can.
func (p *Plan) Check() (why string) {
	at := p.Branch.Event
	before, after := replay.Points(p.Events, at)
	switch {
	case at > 1 && p.Branch.Opening.NewInput:
		return fmt.Sprintf("event %d: another input is possible at event 1 only, because the events before event %d come from the old one", at, at)
	case at == before:
		return ""
	}
	why = fmt.Sprintf("event %d of %d is no point: an execution opens directly before a message", at, len(p.Events))
	switch {
	case before == 0:
		return fmt.Sprintf("%s: use event %d", why, after)
	case after == 0:
		return fmt.Sprintf("%s: use event %d", why, before)
	default:
		return fmt.Sprintf("%s: use event %d or %d", why, before, after)
	}
}

// Open returns the new history. The caller replays it.
func (p *Plan) Open() []history.Event {
	p.opened = p.Branch.Prefix(p.Events)
	p.updates = p.readUpdates()
	return p.opened
}

// Fill takes from the replayed execution all that is pending, and from the origin what is carried along.
func (p *Plan) Fill(x replay.View, outcomes map[int64]history.Event) {
	p.level = replay.LowestLevel
	for _, e := range p.opened {
		p.out.Events = append(p.out.Events, history.Encode(nil, e))
		p.level = max(p.level, replay.LevelOfEvent(&e))
	}
	c := carrier{execution: p.Branch.New.Execution, at: p.opened[len(p.opened)-1].At}
	for _, a := range x.Awaited() {
		p.await(&c, a, outcomes, x)
	}
	c.received(p.later(), x.Opened(), p.Fork() || p.Branch.Opening.DropLater)
	for _, u := range p.updates {
		if u.stage == history.UpdatePending && u.later {
			c.add(max(c.at, u.at), u.body, 0)
		}
	}
	p.out.Messages = c.sorted()
	p.out.Seen = seen(x.Requests(), c.requests)
}

// await writes the task or timer of an operation that the code waits for. The outcome of a child is known, or comes to its link. The
// reply to a command is known, or waits in the inbox.
func (p *Plan) await(c *carrier, a replay.Awaited, outcomes map[int64]history.Event, x replay.View) {
	e := p.opened[a.EventID-1]
	switch b := e.Body.(type) {
	case *history.ActivityScheduled:
		if a.Ending {
			c.add(c.at, &history.ActivityFailed{Scheduled: e.ID, Failure: encode(
				failure.NonRetryable(failure.New(failure.ErrCancelled, "activity was cancelled before it began")))}, e.ID)
			return
		}
		p.out.Tasks = append(p.out.Tasks, engine.NewTask(e.ID, b, p.payload(p.out.Events[e.ID-1], x)))
	case *history.TimerCreated:
		p.out.Timers = append(p.out.Timers, provider.Timer{
			EventID: e.ID, Kind: provider.MessageKind(history.KindTimerFired), Due: provider.Time(b.Due),
			Payload: history.Encode(nil, history.Event{Body: &history.TimerFired{Timer: e.ID}}),
		})
	case *history.ChildStarted:
		if begun, known := p.begun[e.ID]; known && a.Start {
			c.reply(max(c.at, begun.At), begun.Body, e.ID)
		}
		if outcome, known := outcomes[e.ID]; known {
			c.add(max(c.at, outcome.At), outcome.Body, e.ID)
			return
		}
		p.links = append(p.links, provider.ChildLink{Key: b.Key, EventID: e.ID})
	default:
		if reply, known := outcomes[e.ID]; known {
			c.reply(max(c.at, reply.At), reply.Body, e.ID)
		}
	}
}

// payload returns that of a task: the scheduled activity, and what it says of its execution. Bounds are those of a commit.
func (p *Plan) payload(scheduled []byte, x replay.View) []byte {
	origin, header := x.EncodedCaller(), len(x.Header())
	if p.added.headers+header > replay.MaxHeaders {
		p.LeftOut++
		info := x.Info()
		origin, header = history.EncodeCaller(history.Caller{Name: info.Name, CodeVersion: info.CodeVersion}), 0
	}
	p.added.headers += header
	with := history.AppendOrigin(slices.Clone(scheduled), origin)
	if plain := len(origin) - header; p.added.origins+plain <= engine.MaxOrigins && len(with) <= provider.MaxPayload {
		p.added.origins += plain
		return with
	}
	return scheduled
}

// Reset returns the request that stores the plan of a reset.
func (p *Plan) Reset(commit provider.UUID) provider.ResetRequest {
	return provider.ResetRequest{
		Key: p.Inst.Key, Commit: commit, Expected: p.Inst.Version, RequestID: p.Branch.Opening.RequestID,
		Name: p.Inst.Name, CodeVersion: p.Inst.CodeVersion, EngineLevel: max(p.level, p.Inst.EngineLevel),
		Prefix: p.out, Children: p.links, Notices: p.notices(),
	}
}

// ForkInto returns the request that stores the plan of a fork.
func (p *Plan) ForkInto(commit provider.UUID) provider.ForkRequest {
	return provider.ForkRequest{
		Create: provider.CreateRequest{
			ID: p.Branch.New.ID, Key: p.Branch.New.Key, Commit: commit, Name: p.Inst.Name, CodeVersion: p.Inst.CodeVersion,
			EngineLevel: p.level, RequestID: p.Branch.Opening.RequestID,
		},
		Prefix: p.out,
	}
}

// notices ask the children to stop that only the part that is taken back has started.
func (p *Plan) notices() (all []provider.OutMessage) {
	ended, lastOfOther := make(map[int64]bool), replay.LastOfOtherInstance(p.Events)
	for _, e := range slices.Backward(p.later()) {
		switch b := e.Body.(type) {
		case *history.ChildCompleted:
			ended[b.Started] = true
		case *history.ChildFailed:
			ended[b.Started] = true
		case *history.ChildStarted:
			if !ended[e.ID] && e.ID > lastOfOther {
				all = append(all, provider.OutMessage{Key: b.Key, Message: engine.Message(&history.CancelRequested{
					Reason: "its parent " + p.Inst.ID + " was reset", RequestID: "parent:" + provider.UUID(b.Key).String(),
				}, 0, 0)})
			}
		}
	}
	return all
}

// carrier collects messages of the new execution.
type carrier struct {
	execution int64
	at        int64 // of the end of the prefix
	all       []provider.CarriedMessage
	requests  []string // of all
}

// add carries a message that was visible at a time. event is the one that it answers; 0: none, and the message is for any execution.
func (c *carrier) add(at int64, body history.Body, event int64) {
	execution := c.execution
	if event == 0 {
		execution = 0
	}
	c.all = append(c.all, provider.CarriedMessage{Message: engine.Message(body, execution, event), At: provider.Time(max(at, 1))})
}

// reply carries the reply to a command. It is for any execution: a further reset may come before it is applied.
func (c *carrier) reply(at int64, body history.Body, event int64) {
	c.all = append(c.all, provider.CarriedMessage{Message: engine.Message(body, 0, event), At: provider.Time(max(at, 1))})
}

// received carries what the origin has received later, in that order. Without the ExecutionOpened of a continued execution its code
// would never begin.
func (c *carrier) received(later []history.Event, opened, drop bool) {
	at := c.at
	for _, e := range later {
		at = max(at, e.At)
		switch b := e.Body.(type) {
		case *history.EventReceived:
			if !drop {
				c.add(at, b, 0)
				c.requests = append(c.requests, b.RequestID)
			}
		case *history.ExecutionOpened:
			if !opened {
				c.add(at, b, 0)
				opened = true
			}
		}
	}
	if !opened {
		c.add(at, &history.ExecutionOpened{}, 0)
	}
}

func (c *carrier) sorted() []provider.CarriedMessage {
	slices.SortStableFunc(c.all, func(a, b provider.CarriedMessage) int { return cmp.Compare(a.At, b.At) })
	return c.all
}

// seen returns the last of the request IDs that the instance has to remember, each once.
func seen(ids ...[]string) []string {
	var last []string
	known := make(map[string]bool)
	for _, id := range slices.Backward(slices.Concat(ids...)) {
		if !known[id] && len(last) < provider.MaxRequests && check.Name("request ID", id) == nil {
			known[id], last = true, append(last, id)
		}
	}
	slices.Reverse(last)
	return last
}

func encode(err error) history.Failure { return (*failure.Set)(nil).Encode(err) }
