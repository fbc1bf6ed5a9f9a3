package provider

import "fmt"

// Validate checks the request before a provider touches its store.
func (r ResetRequest) Validate() error {
	var c checker
	c.target(r.ID, r.Key)
	c.uuid("Commit", r.Commit)
	c.uuid("Expected", r.Expected)
	if c.err == nil && r.Commit == r.Expected {
		c.failf(ErrInvalid, "Commit", "equals Expected: make a new ID for each call")
	}
	c.text("RequestID", r.RequestID)
	c.name("Name", r.Name)
	c.text("CodeVersion", r.CodeVersion)
	c.least("EngineLevel", r.EngineLevel, 0)
	var size commitSize
	size.one(&c, "Event", r.Event)
	r.Prefix.check(&c, &size)
	c.count("Children", len(r.Children), MaxCommitRows)
	c.distinct("Children", len(r.Children), func(i int) int64 { return r.Children[i].EventID })
	for i := range r.Children {
		var one checker
		one.uuid("Key", r.Children[i].Key)
		c.item("Children", i, one.err)
	}
	c.count("Notices", len(r.Notices), MaxCommitRows)
	notices := CommitTurnRequest{Sends: r.Notices}
	notices.measureOthers(&c, &size)
	size.check(&c)
	return c.done("reset")
}

// Validate checks the request before a provider touches its store.
func (r ForkRequest) Validate() error {
	var c checker
	r.Create.check(&c)
	with := "Fork"
	c.unset("Create.First", r.Create.First == nil, with)
	c.unset("Create.Attributes", len(r.Create.Attributes) == 0, with)
	c.unset("Create.Messages", len(r.Create.Messages) == 0, with)
	m := &r.Create.Message
	c.unset("Create.Message", m.Kind == 0 && m.Execution == 0 && m.EventID == 0 && m.Delay == 0 && m.Payload == nil && m.EngineLevel == 0, with)
	if c.err == nil && r.Create.Policy == IDUseExisting {
		c.failf(ErrInvalid, "Create.Policy", "is IDUseExisting: a fork rejects or replaces")
	}
	size := commitSize{bytes: r.Create.payloadBytes()}
	r.Prefix.check(&c, &size)
	size.check(&c)
	return c.done("fork")
}

// check checks and sizes a prefix. Its rows obey the rules of a commit.
func (p *Prefix) check(c *checker, size *commitSize) {
	if c.err == nil && len(p.Events) == 0 {
		c.failf(ErrInvalid, "Prefix.Events", "is empty: give at least the start event")
	}
	var own checker
	turn := p.Turn()
	turn.checkRows(&own)
	turn.measureOwn(&own, size)
	for i := range p.Tasks {
		if own.err == nil && p.Tasks[i].Lease != nil {
			own.failf(ErrInvalid, fmt.Sprintf("Tasks[%d]", i), "has a Lease: a prefix hands off no tasks")
		}
	}
	p.checkMessages(&own, size)
	p.checkSeen(&own)
	c.sub("Prefix", own.err)
}

func (p *Prefix) checkMessages(c *checker, size *commitSize) {
	c.count("Messages", len(p.Messages), MaxCommitRows)
	last := Time(1)
	for i := range p.Messages {
		m := &p.Messages[i]
		var one checker
		one.least("At", int64(m.At), int64(last))
		one.sub("Message", m.Message.check())
		one.unset("Message.Delay", m.Message.Delay == 0, "a carried message")
		size.bytes += len(m.Message.Payload)
		c.item("Messages", i, one.err)
		last = max(last, m.At)
	}
}

func (p *Prefix) checkSeen(c *checker) {
	c.count("Seen", len(p.Seen), MaxRequests)
	if c.err != nil {
		return
	}
	seen := make(map[string]struct{}, len(p.Seen))
	for i, id := range p.Seen {
		var one checker
		one.name("request", id)
		if _, twice := seen[id]; twice && one.err == nil {
			one.failf(ErrInvalid, "request", "%q is named twice: name each once", shorten(id))
		}
		c.item("Seen", i, one.err)
		seen[id] = struct{}{}
	}
}

// Turn returns the part of a prefix that a commit could store. It is for providers.
func (p *Prefix) Turn() *CommitTurnRequest {
	return &CommitTurnRequest{
		Events: p.Events, Tasks: p.Tasks, Timers: p.Timers, CustomStatus: append([]byte{}, p.CustomStatus...),
		Attributes: p.Attributes, Values: p.Values, Status: StatusRunning,
	}
}

// Place returns when a carried message is visible, if the earliest message that waits is visible at first; 0: none waits. It is
// for providers.
func (m *CarriedMessage) Place(now, first Time) Time {
	at := min(m.At, now)
	if first != 0 {
		at = min(at, first-1)
	}
	return max(at, 1)
}
