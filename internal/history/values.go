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
	switch e := b.(type) {
	case *ExecutionStarted:
		out.add("input", &e.Input)
	case *ActivityScheduled:
		out.add("input", &e.Input)
	case *ActivityCompleted:
		out.add("output", &e.Output)
		out.attempts(e.Attempts)
	case *ActivityFailed:
		out.failure(&e.Failure)
		out.attempts(e.Attempts)
	case *LocalEnded:
		out.add("output", &e.Output)
		out.failure(e.Failure)
	case *EventReceived:
		out.add("payload", &e.Payload)
	case *EventSent:
		out.add("payload", &e.Payload)
	case *ChildStarted:
		out.add("input", &e.Input)
	case *DetachedStarted:
		out.add("input", &e.Input)
	case *ChildCompleted:
		out.add("output", &e.Output)
	case *ChildFailed:
		out.failure(&e.Failure)
	case *SideEffectRecorded:
		out.add("value", &e.Value)
		out.failure(e.Failure)
	default:
		out.ofEnds(b)
	}
	return out
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

type values []Value

func (v *values) add(field string, payload *[]byte) {
	if len(*payload) > 0 {
		*v = append(*v, Value{Field: field, Bytes: payload})
	}
}

func (v *values) text(s *string) {
	if *s != "" {
		*v = append(*v, Value{Field: "error", Text: s})
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
