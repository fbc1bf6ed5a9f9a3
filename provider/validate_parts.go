package provider

func (m *NewMessage) check() error {
	var c checker
	c.least("Execution", m.Execution, 0)
	c.least("EventID", m.EventID, 0)
	c.delay("Delay", m.Delay)
	c.payload("Payload", m.Payload)
	c.least("EngineLevel", m.EngineLevel, 0)
	return c.err
}

func checkCapabilities(c *checker, list []Capability) {
	c.count("Capabilities", len(list), MaxBatch)
	for i := range list {
		var one checker
		one.name("Name", list[i].Name)
		one.text("CodeVersion", list[i].CodeVersion)
		c.item("Capabilities", i, one.err)
	}
}

// unset checks that a field which the request does not use is zero.
func (c *checker) unset(field string, zero bool, with string) {
	if c.err == nil && !zero {
		c.failf(ErrInvalid, field, "is set with %s, which does not use it", with)
	}
}

// commitSize adds up the payload bytes of one commit, or of one batch of reports or renewals.
type commitSize struct{ bytes int }

// one checks a payload and adds it.
func (s *commitSize) one(c *checker, field string, b []byte) {
	c.payload(field, b)
	s.bytes += len(b)
}

// payloads checks a list of payloads and adds them.
func (s *commitSize) payloads(c *checker, field string, list [][]byte) {
	c.count(field, len(list), MaxCommitRows)
	for i, b := range list {
		if c.err == nil && len(b) > MaxPayload {
			var one checker
			one.payload("event", b)
			c.item(field, i, one.err)
		}
		s.bytes += len(b)
	}
}

func (s *commitSize) check(c *checker) {
	if c.err == nil && s.bytes > MaxCommitBytes {
		c.failf(ErrTooLarge, "payloads", "have %d bytes in total: at most %d fit into one request", s.bytes, MaxCommitBytes)
	}
}
