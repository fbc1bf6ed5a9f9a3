package provider

import "fmt"

// Validate checks the request before a provider touches its store.
func (r CreateRequest) Validate() error {
	var c checker
	r.check(&c)
	return c.done("create")
}

func (r CreateRequest) check(c *checker) {
	c.name("ID", r.ID)
	c.uuid("Key", r.Key)
	c.uuid("Commit", r.Commit)
	c.name("Name", r.Name)
	c.text("CodeVersion", r.CodeVersion)
	c.least("EngineLevel", r.EngineLevel, 0)
	c.text("RequestID", r.RequestID)
	if c.err == nil && r.Policy > IDReplaceEnded {
		c.failf(ErrInvalid, "Policy", "is %d: use one of the IDPolicy constants", r.Policy)
	}
	if c.err == nil && !r.Replaces.IsZero() && r.Policy != IDReplaceEnded {
		c.failf(ErrInvalid, "Replaces", "is %s and the Policy replaces nothing: give IDReplaceEnded", r.Replaces)
	}
	c.sub("Parent", r.Parent.check())
	checkAttributes(c, r.Attributes)
	c.sub("Message", r.Message.check())
	r.checkMessages(c)
	if r.Listener != nil {
		c.uuid("Listener.Key", r.Listener.Key)
		c.sub("Listener.Message", r.Listener.Message.check())
	}
	r.checkFirst(c)
}

// checkMessages checks what is delivered together with the start.
func (r CreateRequest) checkMessages(c *checker) {
	if len(r.Messages) == 0 {
		return
	}
	c.count("Messages", len(r.Messages), MaxBatch)
	var size commitSize
	for i := range r.Messages {
		m := &r.Messages[i]
		c.item("Messages", i, m.check())
		if c.err == nil && r.First != nil && m.Delay != 0 {
			c.failf(ErrInvalid, fmt.Sprintf("Messages[%d]", i), "has a Delay of %v and First is set: the first turn has consumed it", m.Delay)
		}
	}
	size.bytes = r.payloadBytes()
	size.check(c)
}

// payloadBytes returns the size of all messages.
func (r CreateRequest) payloadBytes() int {
	n := len(r.Message.Payload)
	if r.Listener != nil {
		n += len(r.Listener.Message.Payload)
	}
	for i := range r.Messages {
		n += len(r.Messages[i].Payload)
	}
	return n
}

// checkFirst checks that the first turn belongs to the new instance, and that a new instance can have it.
func (r CreateRequest) checkFirst(c *checker) {
	f := r.First
	if c.err != nil || f == nil {
		return
	}
	switch {
	case f.Key != r.Key || f.Expected != r.Commit || f.Execution != 1 || f.Length != 0:
		c.failf(ErrInvalid, "First", "is a turn of execution %d, length %d, of %s at %s: give execution 1, length 0, and Key and Commit of the request",
			f.Execution, f.Length, f.Key, f.Expected)
	case !f.Lease.IsZero() || len(f.Completes) > 0 || len(f.Consumed) > 0:
		c.failf(ErrInvalid, "First", "has a Lease, Completes or Consumed: there is nothing yet to lease, complete or consume")
	case f.Status != StatusRunning || f.Next != nil:
		c.failf(ErrInvalid, "First", "ends the execution: only a fetched turn can end it")
	case r.Message.Delay != 0:
		c.failf(ErrInvalid, "First", "is set with a Message whose Delay is %v: a delayed start has its first turn later", r.Message.Delay)
	default:
		c.sub("First", f.Validate())
	}
}

func (p *Parent) check() error {
	var c checker
	if p.Key.IsZero() {
		if p.ID != "" || p.Execution != 0 || p.EventID != 0 {
			c.failf(ErrInvalid, "Key", "is zero while other fields are set: name the parent in full or not at all")
		}
		return c.err
	}
	c.name("ID", p.ID)
	c.least("Execution", p.Execution, 1)
	c.least("EventID", p.EventID, 1)
	if c.err == nil && p.Close > CloseAbandon {
		c.failf(ErrInvalid, "Close", "is %d: use one of the ClosePolicy constants", p.Close)
	}
	return c.err
}

func checkAttributes(c *checker, list []Attribute) {
	c.count("Attributes", len(list), MaxBatch)
	for i := range list {
		c.item("Attributes", i, list[i].check())
	}
}

func (a *Attribute) check() error {
	var c checker
	c.name("Name", a.Name)
	c.text("Text", a.Text)
	switch {
	case c.err != nil:
	case a.Kind < AttributeText || a.Kind > AttributeInstant:
		c.failf(ErrInvalid, "Kind", "is %d: use one of the AttributeKind constants", a.Kind)
	case a.Kind == AttributeText && a.Number != 0:
		c.failf(ErrInvalid, "Number", "is %d in a text attribute: leave it 0", a.Number)
	case a.Kind != AttributeText && a.Text != "":
		c.failf(ErrInvalid, "Text", "is %q in a number attribute: leave it empty", shorten(a.Text))
	case a.Kind == AttributeBool && a.Number != 0 && a.Number != 1:
		c.failf(ErrInvalid, "Number", "is %d in a bool attribute: give 0 or 1", a.Number)
	}
	return c.err
}

// Validate checks the request before a provider touches its store.
func (r GetRequest) Validate() error {
	var c checker
	c.target(r.ID, r.Key)
	c.delay("Wait", r.Wait)
	c.text("Mark", r.Mark)
	c.text("Value", r.Value)
	c.payload("OldValue", r.OldValue)
	switch {
	case c.err != nil:
	case r.WaitEnded && (r.WaitValue || r.Mark != "") || r.WaitValue && r.Mark != "":
		c.failf(ErrInvalid, "Mark", "is not the only wait: give one of WaitEnded, WaitValue and Mark")
	case r.WaitValue && r.Value == "":
		c.failf(ErrInvalid, "Value", "is empty with WaitValue: name the key-value to wait for")
	case !r.WaitValue && r.OldValue != nil:
		c.failf(ErrInvalid, "OldValue", "is set without WaitValue: only that wait compares it")
	}
	return c.done("get")
}

// Validate checks the request before a provider touches its store.
func (r SendRequest) Validate() error {
	var c checker
	c.target(r.ID, r.Key)
	c.sub("Message", r.Message.check())
	return c.done("send")
}

// Validate checks the request before a provider touches its store.
func (r AskRequest) Validate() error {
	var c checker
	c.target(r.ID, r.Key)
	c.uuid("AskID", r.AskID)
	c.payload("Payload", r.Payload)
	if c.err == nil && r.Wait <= 0 {
		c.failf(ErrInvalid, "Wait", "is %v: say how long to wait for the answer", r.Wait)
	}
	if r.As != (Capability{}) {
		c.name("As.Name", r.As.Name)
		c.text("As.CodeVersion", r.As.CodeVersion)
	}
	return c.done("ask")
}

// Validate checks the request before a provider touches its store.
func (r FetchAsksRequest) Validate() error {
	var c checker
	checkCapabilities(&c, r.Capabilities)
	c.least("EngineLevel", r.EngineLevel, 0)
	c.rows("Max", r.Max, 1, MaxBatch)
	c.lease("Lease", r.Lease)
	c.delay("Wait", r.Wait)
	c.text("Owner", r.Owner)
	return c.done("fetch asks")
}

// Validate checks the request before a provider touches its store.
func (r AnswerRequest) Validate() error {
	var c checker
	c.uuid("AskID", r.AskID)
	c.payload("Payload", r.Payload)
	return c.done("answer")
}
