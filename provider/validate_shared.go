package provider

// Validate checks the request before a provider touches its store.
func (r DeadLettersRequest) Validate() error {
	var c checker
	if r.Action > DeadLettersDiscard {
		c.failf(ErrInvalid, "Action", "is %d: use one of the DeadLetterAction constants", r.Action)
	}
	c.count("IDs", len(r.IDs), MaxBatch)
	c.distinct("IDs", len(r.IDs), func(i int) int64 { return r.IDs[i] })
	c.least("Cursor", r.Cursor, 0)
	c.rows("Max", r.Max, 0, MaxPage)
	return c.done("dead letters")
}

// Validate checks the request before a provider touches its store.
func (r LeaseRequest) Validate() error {
	var c checker
	if r.Action != LeaseAcquire && r.Action != LeaseRelease {
		c.failf(ErrInvalid, "Action", "is %d: use one of the LeaseAction constants", r.Action)
	}
	c.name("Name", r.Name)
	c.uuid("Token", r.Token)
	c.text("Owner", r.Owner)
	if r.Action == LeaseAcquire {
		c.name("Owner", r.Owner)
		c.lease("Duration", r.Duration)
	}
	return c.done("lease")
}

// Validate checks the request before a provider touches its store.
func (r RecordRequest) Validate() error {
	var c checker
	if r.Action < RecordGet || r.Action > RecordScan {
		c.failf(ErrInvalid, "Action", "is %d: use one of the RecordAction constants", r.Action)
	}
	c.name("Namespace", r.Namespace)
	c.text("Key", r.Key)
	if r.Action != RecordScan {
		c.name("Key", r.Key)
	}
	c.text("Prefix", r.Prefix)
	c.payload("Value", r.Value)
	c.least("Expect", r.Expect, 0)
	c.rows("Max", r.Max, 0, MaxPage)
	return c.done("record")
}
