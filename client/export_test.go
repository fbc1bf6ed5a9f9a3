package client

// Filled returns the options of a client with the defaults filled in.
func (c *Client) Filled() Options {
	o := Options{Logger: c.store.logger, CallTimeout: c.store.timeout, Overload: c.policy}
	if c.backlog != nil {
		o.MaxBacklog = int(c.backlog.limit)
	}
	return o
}
