package provider

// Validate checks the request before a provider touches its store. The provider that made
// Cursor checks it.
func (r InspectRequest) Validate() error {
	var c checker
	if r.Kind < InspectInstances || r.Kind > InspectDeadLetters {
		c.failf(ErrInvalid, "Kind", "is %d: give InspectInstances (1) to InspectDeadLetters (%d)", r.Kind, InspectDeadLetters)
	}
	c.rows("Max", r.Max, 0, MaxPage)
	return c.done("inspect")
}
