package provider

// Validate checks the request before a provider touches its store.
func (r FetchTurnsRequest) Validate() error {
	var c checker
	c.name("Owner", r.Owner)
	c.uuid("Token", r.Token)
	c.lease("Lease", r.Lease)
	checkCapabilities(&c, r.Capabilities)
	c.least("EngineLevel", r.EngineLevel, 0)
	c.rows("Max", r.Max, 1, MaxBatch)
	c.rows("MaxMessages", r.MaxMessages, 0, MaxFetchMessages)
	c.rows("MaxBytes", r.MaxBytes, 0, MaxFetchBytes)
	c.delay("Wait", r.Wait)
	c.delay("Ahead", r.Ahead)
	if c.err == nil && r.Ahead > MaxAhead {
		c.failf(ErrTooLarge, "Ahead", "is %v: look at most %v ahead", r.Ahead, MaxAhead)
	}
	return c.done("fetch turns")
}

// Validate checks the request before a provider touches its store.
func (r ReleaseTurnsRequest) Validate() error {
	var c checker
	c.count("Items", len(r.Items), MaxBatch)
	for i := range r.Items {
		c.item("Items", i, r.Items[i].check())
	}
	return c.done("release turns")
}

func (r *TurnRelease) check() error {
	var c checker
	switch r.Kind {
	case ReleaseClean, ReleaseFailed:
		c.uuid("Key", r.Key)
		c.uuid("Token", r.Token)
	case ReleaseToken:
		c.uuid("Token", r.Token)
		c.unset("Key", r.Key.IsZero(), "ReleaseToken")
	case ReleaseUnpin:
		c.uuid("Key", r.Key)
		c.name("Owner", r.Owner)
		c.unset("Token", r.Token.IsZero(), "ReleaseUnpin")
		c.unset("Delay", r.Delay == 0, "ReleaseUnpin")
	default:
		c.failf(ErrInvalid, "Kind", "is %d: use one of the ReleaseKind constants", r.Kind)
	}
	if r.Kind != ReleaseUnpin {
		c.unset("Owner", r.Owner == "", "a release of leases")
	}
	c.delay("Delay", r.Delay)
	r.checkFailure(&c)
	return c.err
}

func (r *TurnRelease) checkFailure(c *checker) {
	if r.Kind != ReleaseFailed {
		c.unset("Failure", r.Failure == nil, "a kind other than ReleaseFailed")
		return
	}
	if c.err == nil && r.Failure == nil {
		c.failf(ErrInvalid, "Failure", "is nil with ReleaseFailed: say why the turn failed")
		return
	}
	if c.err != nil {
		return
	}
	c.name("Failure.Reason", r.Failure.Reason)
	if c.err == nil && len(r.Failure.Message) > MaxPayload {
		c.failf(ErrTooLarge, "Failure.Message", "has %d bytes: cut it to %d", len(r.Failure.Message), MaxPayload)
	}
}

// Validate checks the request before a provider touches its store.
func (r CommitTurnRequest) Validate() error {
	var c checker
	c.uuid("Key", r.Key)
	c.uuid("Expected", r.Expected)
	c.uuid("Commit", r.Commit)
	if c.err == nil && r.Commit == r.Expected {
		c.failf(ErrInvalid, "Commit", "equals Expected: make a new ID for each turn")
	}
	c.least("Execution", r.Execution, 1)
	c.least("Length", r.Length, 0)
	c.least("EngineLevel", r.EngineLevel, 0)
	if c.err == nil && r.Ahead && r.Lease.IsZero() {
		c.failf(ErrInvalid, "Ahead", "is set without a Lease: name the one that must hold the instance")
	}
	r.checkStatus(&c)
	r.checkRows(&c)
	r.checkSticky(&c)
	var size commitSize
	r.measureOwn(&c, &size)
	r.measureOthers(&c, &size)
	size.check(&c)
	return c.done("commit turn")
}

// checkStatus checks that the fields about the end of the turn fit each other.
func (r CommitTurnRequest) checkStatus(c *checker) {
	running := r.Status == StatusRunning
	switch {
	case c.err != nil:
	case !running && (r.Status < StatusCompleted || r.Status > StatusTerminated):
		c.failf(ErrInvalid, "Status", "is %s (%d): give StatusRunning or an ended status of an instance", r.Status, r.Status)
	case !running && r.Next != nil:
		c.failf(ErrInvalid, "Next", "is set with status %s: an execution continues only with StatusRunning", r.Status)
	case running && r.Result != nil:
		c.failf(ErrInvalid, "Result", "is set with status Running: only an ended instance has a result")
	case running && r.CloseInbox != "":
		c.failf(ErrInvalid, "CloseInbox", "is set with status Running: only a closing commit empties the inbox")
	}
	c.text("CloseInbox", r.CloseInbox)
	c.failure("", r.Status, r.Excerpt, r.FailureGroup)
}

// failure checks what says why an instance failed. Prefix is that of the names of the fields.
func (c *checker) failure(prefix string, status Status, excerpt []byte, group string) {
	if c.err == nil && status != StatusFailed && (len(excerpt) > 0 || group != "") {
		c.failf(ErrInvalid, prefix+"Excerpt", "or FailureGroup is set with status %s: only a failed instance has them", status)
	}
	if c.err == nil && len(excerpt) > MaxExcerpt {
		c.failf(ErrTooLarge, prefix+"Excerpt", "has %d bytes: at most %d", len(excerpt), MaxExcerpt)
	}
	c.text(prefix+"FailureGroup", group)
}

// checkRows checks counts and event IDs.
func (r CommitTurnRequest) checkRows(c *checker) {
	c.count("Completes", len(r.Completes), MaxCommitRows)
	c.count("Consumed", len(r.Consumed), MaxCommitRows)
	c.count("Tasks", len(r.Tasks), MaxCommitRows)
	c.count("CancelTasks", len(r.CancelTasks), MaxCommitRows)
	c.count("Timers", len(r.Timers), MaxCommitRows)
	c.count("CancelTimers", len(r.CancelTimers), MaxCommitRows)
	c.count("Sends", len(r.Sends), MaxCommitRows)
	c.count("Starts", len(r.Starts), MaxCommitRows)
	c.count("Values", len(r.Values), MaxCommitRows)
	c.count("EndSessions", len(r.EndSessions), MaxBatch)
	for i, id := range r.EndSessions {
		var one checker
		one.name("ID", id)
		c.item("EndSessions", i, one.err)
	}
	checkAttributes(c, r.Attributes)
	c.distinct("Completes", len(r.Completes), func(i int) int64 { return r.Completes[i].EventID })
	for i := range r.Completes {
		var one checker
		one.uuid("Token", r.Completes[i].Token)
		c.item("Completes", i, one.err)
	}
	c.distinct("Consumed", len(r.Consumed), func(i int) int64 { return r.Consumed[i] })
	c.distinct("Tasks", len(r.Tasks), func(i int) int64 { return r.Tasks[i].EventID })
	c.distinct("CancelTasks", len(r.CancelTasks), func(i int) int64 { return r.CancelTasks[i].EventID })
	c.distinct("Timers", len(r.Timers), func(i int) int64 { return r.Timers[i].EventID })
	c.distinct("CancelTimers", len(r.CancelTimers), func(i int) int64 { return r.CancelTimers[i] })
}

func (r CommitTurnRequest) checkSticky(c *checker) {
	c.text("Owner", r.Owner)
	c.delay("Sticky", r.Sticky)
	switch {
	case c.err != nil || r.Sticky == 0:
	case r.Owner == "":
		c.failf(ErrInvalid, "Owner", "is empty with Sticky %v: name the owner", r.Sticky)
	case r.Sticky > MaxLease:
		c.failf(ErrTooLarge, "Sticky", "is %v: at most %v", r.Sticky, MaxLease)
	}
}

// measureOwn checks and sizes what the commit stores in its own instance.
func (r CommitTurnRequest) measureOwn(c *checker, size *commitSize) {
	size.payloads(c, "Events", r.Events)
	for i := range r.Tasks {
		c.item("Tasks", i, r.Tasks[i].check())
		size.bytes += len(r.Tasks[i].Payload)
	}
	for i := range r.Timers {
		var one checker
		one.least("Due", int64(r.Timers[i].Due), 1)
		size.one(&one, "Payload", r.Timers[i].Payload)
		c.item("Timers", i, one.err)
	}
	for i := range r.Values {
		var one checker
		one.name("Key", r.Values[i].Key)
		size.one(&one, "Value", r.Values[i].Value)
		c.item("Values", i, one.err)
	}
	size.one(c, "Result", r.Result)
	size.one(c, "CustomStatus", r.CustomStatus)
	if r.Next == nil {
		return
	}
	c.text("Next.Name", r.Next.Name)
	c.text("Next.CodeVersion", r.Next.CodeVersion)
	c.least("Next.EngineLevel", r.Next.EngineLevel, 0)
	size.payloads(c, "Next.Events", r.Next.Events)
	if r.Next.Message != nil {
		c.sub("Next.Message", r.Next.Message.check())
		size.bytes += len(r.Next.Message.Payload)
	}
}

// checkReplies checks and sizes the replies to a message.
func (m *OutMessage) checkReplies(c *checker, size *commitSize) {
	r := m.Replies
	if r == nil {
		return
	}
	if c.err == nil && m.Refused != nil {
		c.failf(ErrInvalid, "Refused", "is set together with Replies: give one of them")
	}
	c.sub("Replies.Accepted", r.Accepted.check())
	c.sub("Replies.Gone", r.Gone.check())
	c.sub("Replies.Ended", r.Ended.check())
	c.sub("Replies.Full", r.Full.check())
	size.bytes += len(r.Accepted.Payload) + len(r.Gone.Payload) + len(r.Ended.Payload) + len(r.Full.Payload)
}

// measureOthers checks and sizes what the commit sends to other instances.
func (r CommitTurnRequest) measureOthers(c *checker, size *commitSize) {
	for i := range r.Sends {
		send := &r.Sends[i]
		var one checker
		one.target(send.ID, send.Key)
		one.sub("Message", send.Message.check())
		size.bytes += len(send.Message.Payload)
		if send.Refused != nil {
			one.sub("Refused", send.Refused.check())
			size.bytes += len(send.Refused.Payload)
		}
		send.checkReplies(&one, size)
		c.item("Sends", i, one.err)
	}
	for i := range r.Starts {
		start := &r.Starts[i]
		var one checker
		start.Create.check(&one)
		switch {
		case one.err != nil:
		case start.Create.Policy == IDUseExisting:
			one.failf(ErrInvalid, "Create.Policy", "is IDUseExisting: a start rejects or replaces")
		case start.Create.First != nil:
			one.failf(ErrInvalid, "Create.First", "is set: a child that a commit starts is fetched for its first turn")
		}
		one.sub("Refused", start.Refused.check())
		size.bytes += start.Create.payloadBytes() + len(start.Refused.Payload)
		if start.Accepted != nil {
			one.sub("Accepted", start.Accepted.check())
			size.bytes += len(start.Accepted.Payload)
		}
		c.item("Starts", i, one.err)
	}
}
