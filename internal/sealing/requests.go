package sealing

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// The methods of this file get copies of requests, which the caller may change. Lists inside become copies, too.

// raise returns a function that raises a level to that of sealed values.
func raise(level *int64) func() {
	return func() { *level = max(*level, replay.LevelOfLanguage) }
}

// message adds the values of a message.
func (s *sealer) message(m *provider.NewMessage) { s.eventAnd(&m.Payload, raise(&m.EngineLevel)) }

// copied adds the values of a message that becomes a copy; nil: none.
func (s *sealer) copied(m **provider.NewMessage) {
	if *m != nil {
		own := **m
		*m = &own
		s.message(&own)
	}
}

// commit adds the values of a turn. Its level rises also for what is beside the history, since only nodes of that level can read it.
func (s *sealer) commit(c *provider.CommitTurnRequest) {
	level := raise(&c.EngineLevel)
	s.events(&c.Events, level)
	s.tasks(&c.Tasks)
	s.sends(&c.Sends)
	c.Starts = slices.Clone(c.Starts)
	for i := range c.Starts {
		start := &c.Starts[i]
		s.create(&start.Create)
		s.message(&start.Refused)
		s.copied(&start.Accepted)
	}
	if c.Next != nil {
		next := *c.Next
		c.Next = &next
		s.events(&next.Events, raise(&next.EngineLevel))
		s.copied(&next.Message)
	}
	s.whole(codec.Outcome, &c.Result)
	s.whole(codec.Status, &c.CustomStatus)
	s.whole(codec.Excerpt, &c.Excerpt)
	if c.FailureGroup != "" {
		s.keys = append(s.keys, &c.FailureGroup)
	}
	s.values(&c.Values)
	if len(s.items) > 0 {
		s.last(level)
	}
}

// last calls a function when all that was added before is sealed.
func (s *sealer) last(done func()) {
	n := len(s.puts) - 1
	put := s.puts[n]
	s.puts[n] = func(k history.Kept) error {
		err := put(k)
		if err == nil {
			done()
		}
		return err
	}
}

func (s *sealer) tasks(list *[]provider.NewTask) {
	*list = slices.Clone(*list)
	for i := range *list {
		s.event(&(*list)[i].Payload)
	}
}

func (s *sealer) sends(list *[]provider.OutMessage) {
	*list = slices.Clone(*list)
	for i := range *list {
		m := &(*list)[i]
		s.message(&m.Message)
		s.copied(&m.Refused)
		if m.Replies != nil {
			own := *m.Replies
			m.Replies = &own
			for _, reply := range []*provider.NewMessage{&own.Accepted, &own.Gone, &own.Ended, &own.Full} {
				s.message(reply)
			}
		}
	}
}

// values adds key-values. Those of the engine itself hold nothing of the user, except for the states of updates.
func (s *sealer) values(list *[]provider.KeyValue) {
	*list = slices.Clone(*list)
	for i := range *list {
		v := &(*list)[i]
		if !replay.IsReserved(v.Key) || v.Key == replay.ValueWaiting || strings.HasPrefix(v.Key, history.UpdateKeys) {
			s.whole(codec.Value, &v.Value)
		}
	}
}

// create adds the values of a start.
func (s *sealer) create(c *provider.CreateRequest) {
	before := len(s.items)
	s.message(&c.Message)
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		s.message(&c.Messages[i])
	}
	if c.Listener != nil {
		own := *c.Listener
		c.Listener = &own
		s.message(&own.Message)
	}
	if c.First != nil {
		own := *c.First
		c.First = &own
		s.commit(&own)
	}
	if len(s.items) > before {
		s.last(raise(&c.EngineLevel))
	}
}

// steer adds the values of an act on an instance.
func (s *sealer) steer(r *provider.SteerRequest) {
	s.event(&r.Event)
	s.whole(codec.Outcome, &r.Result)
	s.copied(&r.ParentNotice)
	s.copied(&r.ChildNotice)
	s.sends(&r.Notices)
	s.events(&r.Events, raise(&r.EngineLevel))
}

// prefix adds the values of the prefix with which a reset or fork opens an execution.
func (s *sealer) prefix(p *provider.Prefix, level *int64) {
	before := len(s.items)
	s.events(&p.Events, func() {})
	s.tasks(&p.Tasks)
	p.Messages = slices.Clone(p.Messages)
	for i := range p.Messages {
		s.message(&p.Messages[i].Message)
	}
	s.whole(codec.Status, &p.CustomStatus)
	s.values(&p.Values)
	if len(s.items) > before {
		s.last(raise(level))
	}
}

// report adds the values of a report on a task.
func (s *sealer) report(r *provider.TaskReport) {
	s.message(&r.Message)
	s.whole(codec.Failure, &r.Failure)
	s.whole(codec.Heartbeat, &r.Details)
}

func (o *opener) instance(in *provider.Instance) {
	o.whole(codec.Outcome, &in.Result)
	o.whole(codec.Status, &in.CustomStatus)
	o.whole(codec.Excerpt, &in.Excerpt)
	if in.Blocked != nil {
		o.text(codec.Blocked, &in.Blocked.Message)
	}
}

func (o *opener) values(list []provider.KeyValue) {
	for i := range list {
		o.whole(codec.Value, &list[i].Value)
	}
}
