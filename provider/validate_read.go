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
	checkAttributes(&c, f.Attributes)
	return c.err
}

// Validate checks the request before a provider touches its store. The provider that made
// Cursor checks it.
func (r ListRequest) Validate() error {
	var c checker
	c.sub("Filter", r.Filter.check())
	c.rows("Max", r.Max, 0, MaxPage)
	return c.done("list")
}

// Validate checks the request before a provider touches its store.
func (r CountRequest) Validate() error {
	var c checker
	c.sub("Filter", r.Filter.check())
	return c.done("count")
}

// Validate returns nil: there is nothing to check yet.
func (r StatsRequest) Validate() error { return nil }

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
	c.rows("Max", r.Max, 0, MaxBatch)
	return c.done("prune")
}
