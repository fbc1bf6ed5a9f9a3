package history

// MainReturned says that the function of the orchestration has returned and its handlers go on. It records how the
// execution will end.
type MainReturned struct {
	Output    []byte
	Failure   *Failure
	Cancelled bool            // the failure is the cancellation itself
	Next      *ContinuedAsNew // nil: it does not continue as new
	Grace     int64           // microseconds until the handlers are cancelled
}

// Kind implements Body.
func (*MainReturned) Kind() Kind { return KindMainReturned }

func (e *MainReturned) fields(c *codec) {
	c.payload(2, &e.Output)
	optional(c, 3, &e.Failure)
	c.boolean(4, &e.Cancelled)
	optional(c, 5, &e.Next)
	c.integer(6, &e.Grace)
}
