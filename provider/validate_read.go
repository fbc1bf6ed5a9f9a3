package provider

// Validate checks the request before a provider touches its store.
func (r ReadHistoryRequest) Validate() error {
	var c checker
	c.uuid("Key", r.Key)
	c.least("Execution", r.Execution, 0)
	c.least("From", r.From, 1)
	c.least("To", r.To, 0)
	c.rows("MaxBytes", r.MaxBytes, 0, MaxFetchBytes)
	return c.done("read history")
}

func (f *Filter) check() error {
	var c checker
	c.text("IDPrefix", f.IDPrefix)
	c.text("Name", f.Name)
	c.count("Statuses", len(f.Statuses), MaxBatch)
	for i, s := range f.Statuses {
		if c.err == nil && (s < StatusRunning || s > StatusTerminated) {
			var one checker
			one.failf(ErrInvalid, "status", "is %s (%d): instances are Running to Terminated", s, s)
			c.item("Statuses", i, one.err)
		}
	}
	c.count("ParentKeys", len(f.ParentKeys), MaxPage)
	checkAttributes(&c, f.Attributes)
	c.count("CodeVersions", len(f.CodeVersions), MaxBatch)
	for i, version := range f.CodeVersions {
		var one checker
		one.text("version", version)
		c.item("CodeVersions", i, one.err)
	}
	c.count("Matches", len(f.Matches), MaxBatch)
	for i := range f.Matches {
		c.item("Matches", i, f.Matches[i].check())
	}
	c.text("FailureGroup", f.FailureGroup)
	return c.err
}

func (m *AttributeMatch) check() error {
	var c checker
	c.name("Name", m.Name)
	if c.err == nil && (m.Kind < AttributeText || m.Kind > AttributeInstant) {
		c.failf(ErrInvalid, "Kind", "is %d: use one of the AttributeKind constants", m.Kind)
	}
	if c.err == nil && m.Kind != AttributeText && m.Prefix != "" {
		c.failf(ErrInvalid, "Prefix", "is %q of a number: give From and To", shorten(m.Prefix))
	}
	c.text("Prefix", m.Prefix)
	c.count("Any", len(m.Any), MaxBatch)
	for i := range m.Any {
		c.item("Any", i, m.Any[i].check(m.Kind))
	}
	for name, value := range map[string]*AttributeValue{"From": m.From, "To": m.To} {
		if value != nil {
			c.sub(name, value.check(m.Kind))
		}
	}
	return c.err
}

// check checks a value for attributes of a kind.
func (v *AttributeValue) check(kind AttributeKind) error {
	var c checker
	c.text("Text", v.Text)
	switch {
	case c.err != nil:
	case kind == AttributeText && v.Number != 0:
		c.failf(ErrInvalid, "Number", "is %d in a condition on texts: leave it 0", v.Number)
	case kind != AttributeText && v.Text != "":
		c.failf(ErrInvalid, "Text", "is %q in a condition on numbers: leave it empty", shorten(v.Text))
	}
	return c.err
}

// Validate checks the request before a provider touches its store. The provider that made
// Cursor checks it.
func (r ListRequest) Validate() error {
	var c checker
	c.sub("Filter", r.Filter.check())
	c.rows("Max", r.Max, 0, MaxPage)
	for i, f := range r.Omit {
		if c.err == nil && (f < ListAttributes || f > ListBlockedMessage) {
			var one checker
			one.failf(ErrInvalid, "field", "is %d: use one of the ListField constants", f)
			c.item("Omit", i, one.err)
		}
	}
	return c.done("list")
}

// Validate checks the request before a provider touches its store.
func (r CountRequest) Validate() error {
	var c checker
	c.sub("Filter", r.Filter.check())
	c.least("Max", r.Max, 0)
	return c.done("count")
}

// Validate checks the request before a provider touches its store. The provider that made Cursor checks it.
func (r ListTasksRequest) Validate() error {
	var c checker
	c.text("Queue", r.Queue)
	c.text("Name", r.Name)
	c.rows("Max", r.Max, 0, MaxPage)
	return c.done("list tasks")
}

// Validate checks the request before a provider touches its store.
func (r FailureGroupsRequest) Validate() error {
	var c checker
	c.text("Name", r.Name)
	c.text("Group", r.Group)
	c.rows("Texts", r.Texts, 0, MaxGrouped)
	c.rows("Max", r.Max, 0, MaxPage)
	return c.done("failure groups")
}

// Validate checks the request before a provider touches its store.
func (r StatsRequest) Validate() error {
	var c checker
	c.least("Most", r.Most, 0)
	return c.done("stats")
}

// Validate checks the request before a provider touches its store.
func (r DeleteRequest) Validate() error {
	var c checker
	c.target(r.ID, r.Key)
	return c.done("delete")
}

// Validate checks the request before a provider touches its store.
func (r PruneRequest) Validate() error {
	var c checker
	c.delay("Age", r.Age)
	c.names("Names", r.Names)
	c.names("ExceptNames", r.ExceptNames)
	c.count("Spare", len(r.Spare), MaxSpared)
	c.count("Statuses", len(r.Statuses), MaxBatch)
	for i, s := range r.Statuses {
		if c.err == nil && (s < StatusCompleted || s > StatusTerminated) {
			var one checker
			one.failf(ErrInvalid, "status", "is %s (%d): ended instances are Completed to Terminated", s, s)
			c.item("Statuses", i, one.err)
		}
	}
	c.rows("Max", r.Max, 0, MaxBatch)
	return c.done("prune")
}

// Validate checks the request before a provider touches its store. The provider that made Cursor checks it.
func (r TrimRequest) Validate() error {
	var c checker
	c.delay("Age", r.Age)
	c.rows("Keep", r.Keep, 0, MaxBatch)
	c.rows("Max", r.Max, 0, MaxBatch)
	return c.done("trim")
}

// Validate checks the request before a provider touches its store.
func (r CompactRequest) Validate() error {
	var c checker
	c.least("Bytes", r.Bytes, 0)
	return c.done("compact")
}

// names checks a list of names of orchestrations.
func (c *checker) names(field string, list []string) {
	c.count(field, len(list), MaxBatch)
	for i, name := range list {
		var one checker
		one.name("name", name)
		c.item(field, i, one.err)
	}
}
