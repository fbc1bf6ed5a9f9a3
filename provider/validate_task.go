package provider

func (t *NewTask) check() error {
	var c checker
	c.name("Queue", t.Queue)
	c.name("Name", t.Name)
	c.payload("Payload", t.Payload)
	if c.err == nil && (t.Priority < 0 || t.Priority > PriorityLowest) {
		c.failf(ErrInvalid, "Priority", "is %d: give %d (first) to %d, or 0 for the default", t.Priority, PriorityHighest, PriorityLowest)
	}
	c.text("FairnessKey", t.FairnessKey)
	c.text("Session", t.Session)
	c.text("LimitKey", t.LimitKey)
	c.delay("NotBefore", t.NotBefore)
	c.delay("StartBy", t.StartBy)
	c.delay("Deadline", t.Deadline)
	if t.Lease != nil {
		c.uuid("Lease.Token", t.Lease.Token)
		c.name("Lease.Owner", t.Lease.Owner)
		c.lease("Lease.Duration", t.Lease.Duration)
	}
	return c.err
}

func checkRef(c *checker, t TaskRef) {
	c.uuid("Key", t.Key)
	c.least("Execution", t.Execution, 1)
	c.least("EventID", t.EventID, 1)
}

// Validate checks the request before a provider touches its store.
func (r FetchTasksRequest) Validate() error {
	var c checker
	c.name("Owner", r.Owner)
	c.uuid("Token", r.Token)
	c.lease("Lease", r.Lease)
	c.count("Queues", len(r.Queues), MaxBatch)
	for i := range r.Queues {
		c.item("Queues", i, r.Queues[i].check())
	}
	c.sub("Sessions", r.Sessions.check())
	c.rows("Max", r.Max, 1, MaxBatch)
	c.delay("Wait", r.Wait)
	return c.done("fetch tasks")
}

func (f *QueueFilter) check() error {
	var c checker
	c.name("Queue", f.Queue)
	c.count("Names", len(f.Names), MaxBatch)
	for i, name := range f.Names {
		var one checker
		one.name("name", name)
		c.item("Names", i, one.err)
	}
	c.least("MaxLeased", int64(f.MaxLeased), 0)
	return c.err
}

// Validate checks the request before a provider touches its store.
func (r ReportTasksRequest) Validate() error {
	var c checker
	c.count("Items", len(r.Items), MaxBatch)
	var size commitSize
	for i := range r.Items {
		item := &r.Items[i]
		c.item("Items", i, item.check())
		size.bytes += len(item.Message.Payload) + len(item.Failure) + len(item.Details)
	}
	size.check(&c)
	return c.done("report tasks")
}

func (t *TaskReport) check() error {
	var c checker
	if t.Outcome == TaskReleaseAll {
		c.unset("TaskRef", t.TaskRef == TaskRef{}, "TaskReleaseAll")
		c.unset("Attempt", t.Attempt == 0, "TaskReleaseAll")
	} else {
		checkRef(&c, t.TaskRef)
		c.least("Attempt", t.Attempt, 1)
	}
	c.uuid("Token", t.Token)
	if c.err == nil && (t.Outcome < TaskComplete || t.Outcome > TaskReleaseAll) {
		c.failf(ErrInvalid, "Outcome", "is %d: use one of the TaskOutcome constants", t.Outcome)
	}
	c.sub("Message", t.Message.check())
	c.delay("Delay", t.Delay)
	c.delay("Limit", t.Limit)
	c.payload("Failure", t.Failure)
	c.payload("Details", t.Details)
	c.text("Reason", t.Reason)
	return c.err
}

// Validate checks the request before a provider touches its store.
func (r RenewTasksRequest) Validate() error {
	var c checker
	c.count("Items", len(r.Items), MaxBatch)
	var size commitSize
	for i := range r.Items {
		var one checker
		checkRef(&one, r.Items[i].TaskRef)
		one.uuid("Token", r.Items[i].Token)
		size.one(&one, "Details", r.Items[i].Details)
		c.item("Items", i, one.err)
	}
	size.check(&c)
	c.lease("Lease", r.Lease)
	if c.text("Owner", r.Owner); r.Owner != "" {
		c.lease("SessionLease", r.SessionLease)
	}
	return c.done("renew tasks")
}
