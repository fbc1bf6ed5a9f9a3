package provider

// Validate checks the request before a provider touches its store.
func (r SteerRequest) Validate() error {
	var c checker
	c.target(r.ID, r.Key)
	c.uuid("Commit", r.Commit)
	if c.err == nil && (r.Action < SteerSuspend || r.Action > SteerDrop) {
		c.failf(ErrInvalid, "Action", "is %d: use one of the SteerAction constants", r.Action)
	}
	if c.err == nil && r.Action != SteerTerminate && (r.Result != nil || r.ParentNotice != nil || r.ChildNotice != nil) {
		c.failf(ErrInvalid, "Action", "is %d with a result or notice: only Terminate has them", r.Action)
	}
	if c.err == nil && r.Action != SteerReset && len(r.Events) > 0 {
		c.failf(ErrInvalid, "Action", "is %d with Events: only Reset has them, else use Event", r.Action)
	}
	c.text("RequestID", r.RequestID)
	r.checkFence(&c)
	r.checkDrop(&c)
	c.payload("Event", r.Event)
	c.payload("Result", r.Result)
	if r.ParentNotice != nil {
		c.sub("ParentNotice", r.ParentNotice.check())
	}
	if r.ChildNotice != nil {
		c.sub("ChildNotice", r.ChildNotice.check())
	}
	c.least("EngineLevel", r.EngineLevel, 0)
	var size commitSize
	size.payloads(&c, "Events", r.Events)
	r.checkNotices(&c, &size)
	size.check(&c)
	return c.done("steer")
}

// checkFence checks the fields of Reset and Move.
func (r SteerRequest) checkFence(c *checker) {
	c.text("CodeVersion", r.CodeVersion)
	c.text("Name", r.Name)
	switch {
	case c.err != nil:
	case r.Action != SteerMove && r.CodeVersion != "":
		c.failf(ErrInvalid, "CodeVersion", "is set with action %d: only Move has it", r.Action)
	case r.Action != SteerMove && r.Name != "":
		c.failf(ErrInvalid, "Name", "is set with action %d: only Move has it", r.Action)
	case r.Action != SteerReset && r.Action != SteerMove && !r.Expected.IsZero():
		c.failf(ErrInvalid, "Expected", "is set with action %d: only Reset and Move are fenced", r.Action)
	case !r.Expected.IsZero() && r.Expected == r.Commit:
		c.failf(ErrInvalid, "Commit", "equals Expected: make a new ID for each call")
	}
}

// checkDrop checks the fields of Drop.
func (r SteerRequest) checkDrop(c *checker) {
	if r.Action == SteerDrop {
		c.least("MessageID", r.MessageID, 1)
		c.name("Reason", r.Reason)
	} else if c.err == nil && (r.MessageID != 0 || r.Reason != "") {
		c.failf(ErrInvalid, "Action", "is %d with MessageID or Reason: only Drop has them", r.Action)
	}
}

// checkNotices checks and sizes the notices of Terminate.
func (r SteerRequest) checkNotices(c *checker, size *commitSize) {
	if c.err == nil && r.Action != SteerTerminate && len(r.Notices) > 0 {
		c.failf(ErrInvalid, "Notices", "are set with action %d: only Terminate has them", r.Action)
	}
	c.count("Notices", len(r.Notices), MaxCommitRows)
	commit := CommitTurnRequest{Sends: r.Notices}
	commit.measureOthers(c, size)
}
