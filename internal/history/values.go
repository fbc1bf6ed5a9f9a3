package history

// A Value is something in an event that code of the user has made.
type Value struct {
	Field string  // "input", "output", "payload", "value" or "details"; "error" for a text
	Bytes *[]byte // JSON; nil for a text
	Text  *string
}

// Values returns what code of the user has made of an event, as places that may be changed. Names, IDs, reasons and headers do not count.
// An empty value is left out.
func Values(b Body) []Value {
	var out values
	out.of(b)
	return out.list
}

// places returns all places of an event that are sealed, empty ones included: those of Values, and the reasons that people or code gave. An
// event without its values has as many.
func places(b Body) []Value {
	out := values{empty: true}
	out.of(b)
	switch e := b.(type) {
	case *CancelRequested:
		out.text(&e.Reason)
	case *CancelSent:
		out.text(&e.Reason)
	case *ExecutionTerminated:
		out.text(&e.Reason)
	case *ForkPoint:
		out.text(&e.Reason)
	}
	return out.list
}

// of adds the values of an event.
func (v *values) of(b Body) {
	switch e := b.(type) {
	case *ExecutionStarted:
		v.add("input", &e.Input)
		if p := e.Previous; p != nil {
			v.add("output", &p.Output)
			v.failure(p.Failure)
		}
	case *ActivityScheduled:
		v.add("input", &e.Input)
	case *ActivityCompleted:
		v.add("output", &e.Output)
		v.attempts(e.Attempts)
	case *ActivityFailed:
		v.failure(&e.Failure)
		v.attempts(e.Attempts)
	case *LocalEnded:
		v.add("output", &e.Output)
		v.failure(e.Failure)
	case *EventReceived:
		v.add("payload", &e.Payload)
	case *EventSent:
		v.add("payload", &e.Payload)
	case *ChildStarted:
		v.add("input", &e.Input)
	case *DetachedStarted:
		v.add("input", &e.Input)
		for i := range e.Events {
			v.add("payload", &e.Events[i].Payload)
		}
	case *ChildCompleted:
		v.add("output", &e.Output)
	case *ChildFailed:
		v.failure(&e.Failure)
	case *SideEffectRecorded:
		v.add("value", &e.Value)
		v.failure(e.Failure)
	default:
		v.ofEnds(b)
	}
}

// ofEnds adds the values of updates, and of what ends an execution.
func (v *values) ofEnds(b Body) {
	switch e := b.(type) {
	case *UpdateReceived:
		v.add("input", &e.Input)
	case *UpdateRejected:
		v.failure(e.Failure)
	case *UpdateCompleted:
		v.add("output", &e.Output)
		v.failure(e.Failure)
	case *MainReturned:
		v.add("output", &e.Output)
		v.failure(e.Failure)
		if e.Next != nil {
			v.add("input", &e.Next.Input)
		}
	case *ExecutionCompleted:
		v.add("output", &e.Output)
	case *ExecutionFailed:
		v.failure(&e.Failure)
	case *ExecutionCancelled:
		v.failure(&e.Failure)
	case *ContinuedAsNew:
		v.add("input", &e.Input)
	}
}

// values collects places.
type values struct {
	list  []Value
	empty bool // also empty ones
}

func (v *values) add(field string, payload *[]byte) {
	if len(*payload) > 0 || v.empty {
		v.list = append(v.list, Value{Field: field, Bytes: payload})
	}
}

func (v *values) text(s *string) {
	if *s != "" || v.empty {
		v.list = append(v.list, Value{Field: "error", Text: s})
	}
}

func (v *values) failure(f *Failure) {
	if f == nil {
		return
	}
	v.text(&f.Message)
	v.add("details", &f.Details)
	for i := range f.Causes {
		v.failure(&f.Causes[i])
	}
}

func (v *values) attempts(list []Attempt) {
	for i := range list {
		v.text(&list[i].Failure)
	}
}
