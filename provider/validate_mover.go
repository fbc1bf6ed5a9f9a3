package provider

import (
	"fmt"
	"math"
)

// Validate checks the request before a provider touches its store.
func (r SealRequest) Validate() error {
	var c checker
	c.uuid("Key", r.Key)
	c.uuid("Transfer", r.Transfer)
	c.uuid("Commit", r.Commit)
	if c.err == nil && r.To > SealClosed {
		c.failf(ErrInvalid, "To", "is %d: use SealNone, SealHeld or SealClosed", r.To)
	}
	if r.To != SealHeld {
		c.unset("Again", !r.Again, "a seal other than SealHeld")
	}
	return c.done("seal")
}

// Validate checks the request before a provider touches its store.
func (r SealsRequest) Validate() error {
	var c checker
	c.rows("Max", r.Max, 0, MaxPage)
	return c.done("seals")
}

// Validate checks the request before a provider touches its store.
func (r ExportRequest) Validate() error {
	var c checker
	c.uuid("Key", r.Key)
	c.rows("MaxBytes", r.MaxBytes, 0, math.MaxInt32)
	return c.done("export")
}

// Validate checks the request before a provider touches its store.
func (r ImportRequest) Validate() error {
	var c checker
	c.uuid("Key", r.Key)
	c.uuid("Transfer", r.Transfer)
	c.least("Number", int64(r.Number), 0)
	c.least("At", int64(r.At), 1)
	switch {
	case c.err != nil:
	case r.Number == 0 && r.Parcel.Head == nil:
		c.failf(ErrInvalid, "Parcel.Head", "is missing: the first page has it")
	case r.Number > 0 && r.Parcel.Head != nil:
		c.failf(ErrInvalid, "Parcel.Head", "is set: only the first page has it")
	case r.Number > 0 && r.Replace:
		c.failf(ErrInvalid, "Replace", "is set: only the first page replaces an instance")
	case r.Parcel.Bytes() > MaxCommitBytes:
		c.failf(ErrTooLarge, "Parcel", "has %d bytes: at most %d fit; export with a smaller MaxBytes", r.Parcel.Bytes(), MaxCommitBytes)
	}
	if r.Parcel.Head != nil {
		c.sub("Parcel.Head", r.Parcel.Head.check(r.Key))
	}
	r.Parcel.check(&c, r.Key)
	return c.done("import")
}

func (h *MovedHead) check(key UUID) error {
	var c checker
	in := &h.Instance
	c.name("Instance.ID", in.ID)
	c.name("Instance.Name", in.Name)
	c.text("Instance.CodeVersion", in.CodeVersion)
	c.uuid("Instance.Version", in.Version)
	c.least("Instance.Execution", in.Execution, 1)
	c.least("Instance.HistoryLength", in.HistoryLength, 0)
	c.least("NextMessage", h.NextMessage, 1)
	c.payload("Instance.Result", in.Result)
	c.payload("Instance.CustomStatus", in.CustomStatus)
	if c.err == nil && in.Key != key {
		c.failf(ErrInvalid, "Instance.Key", "is %s: the page is of %s", in.Key, key)
	}
	if c.err == nil && (in.Status < StatusRunning || in.Status > StatusTerminated) {
		c.failf(ErrInvalid, "Instance.Status", "is %d: an instance has none of that kind", in.Status)
	}
	c.failure("Instance.", in.Status, in.Excerpt, in.FailureGroup)
	c.count("Requests", len(h.Requests), MaxRequests)
	c.count("Acts", len(h.Acts), MaxActs)
	for i, act := range h.Acts {
		if c.err == nil && len(act) != ActBytes {
			c.failf(ErrInvalid, fmt.Sprintf("Acts[%d]", i), "has %d bytes: each has %d", len(act), ActBytes)
		}
	}
	c.count("Executions", len(h.Executions), math.MaxInt32)
	return c.err
}

// ActBytes is how many bytes of its SHA-256 stand for a request ID of Steer in MovedHead.Acts.
const ActBytes = 16

func (p *Parcel) check(c *checker, key UUID) {
	for i := range p.History {
		var one checker
		one.least("Execution", p.History[i].Execution, 1)
		one.least("First", p.History[i].First, 1)
		if one.err == nil && len(p.History[i].Events) == 0 {
			one.failf(ErrInvalid, "Events", "is empty: give at least one")
		}
		for _, e := range p.History[i].Events {
			one.payload("Events", e)
		}
		c.item("History", i, one.err)
	}
	for i := range p.Messages {
		var one checker
		one.least("ID", p.Messages[i].ID, 1)
		one.payload("Payload", p.Messages[i].Payload)
		c.item("Messages", i, one.err)
	}
	for i := range p.Tasks {
		c.item("Tasks", i, p.Tasks[i].check(key))
	}
	for i := range p.Values {
		var one checker
		one.name("Key", p.Values[i].Key)
		one.payload("Value", p.Values[i].Value)
		c.item("Values", i, one.err)
	}
	for i := range p.Letters {
		var one checker
		if p.Letters[i].Key != key {
			one.failf(ErrInvalid, "Key", "is %s: the page is of %s", p.Letters[i].Key, key)
		}
		one.payload("Payload", p.Letters[i].Payload)
		c.item("Letters", i, one.err)
	}
}

func (t *MovedTask) check(key UUID) error {
	var c checker
	c.name("Queue", t.Queue)
	c.name("Name", t.Name)
	c.least("Execution", t.Execution, 1)
	c.least("EventID", t.EventID, 1)
	c.least("Attempt", t.Attempt, 1)
	c.payload("Payload", t.Payload)
	c.payload("Details", t.Details)
	c.payload("Failure", t.Failure)
	switch {
	case c.err != nil:
	case t.Key != key:
		c.failf(ErrInvalid, "Key", "is %s: the page is of %s", t.Key, key)
	case t.Priority < PriorityHighest || t.Priority > PriorityLowest:
		c.failf(ErrInvalid, "Priority", "is %d: give %d to %d", t.Priority, PriorityHighest, PriorityLowest)
	case t.State != TaskQueued && t.State != TaskParked:
		c.failf(ErrInvalid, "State", "is %d: a task on its way is queued or parked", t.State)
	}
	return c.err
}
