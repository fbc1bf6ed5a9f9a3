package client

// Filled answers the options of a client with the defaults filled in.
func (c *Client) Filled() Options {
	return Options{Logger: c.logger, Errors: c.errors, CallTimeout: c.timeout}
}
