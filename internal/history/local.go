package history

// LocalEnded is the end of a local activity that ran inside the turn of this event. It has the form of a message: the
// next commands of the code follow it.
type LocalEnded struct {
	Call    int64  // number of the call among those of local activities, from 1
	Name    string // of the activity
	Output  []byte
	Failure *Failure // of the last attempt; nil: it completed
	Attempt int64
}

// Kind implements Body.
func (*LocalEnded) Kind() Kind { return KindLocalEnded }

func (e *LocalEnded) fields(c *codec) {
	c.integer(2, &e.Call)
	c.text(3, &e.Name)
	c.payload(4, &e.Output)
	optional(c, 5, &e.Failure)
	c.integer(6, &e.Attempt)
}

// LocalQueued says that a local activity continues in the queue. The ActivityScheduled that it became follows.
type LocalQueued struct {
	Call     int64
	Name     string
	Attempts int64 // that failed
	Delay    int64 // microseconds before the next one
}

// Kind implements Body.
func (*LocalQueued) Kind() Kind { return KindLocalQueued }

func (e *LocalQueued) fields(c *codec) {
	c.integer(2, &e.Call)
	c.text(3, &e.Name)
	c.integer(4, &e.Attempts)
	c.integer(5, &e.Delay)
}
