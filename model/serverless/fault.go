package serverless

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

// Types of errors that the standard defines and the interpreter raises.
const (
	TypeExpression    = "https://serverlessworkflow.io/spec/1.0.0/errors/expression"
	TypeTimeout       = "https://serverlessworkflow.io/spec/1.0.0/errors/timeout"
	TypeCommunication = "https://serverlessworkflow.io/spec/1.0.0/errors/communication"
	TypeRuntime       = "https://serverlessworkflow.io/spec/1.0.0/errors/runtime"
)

// Fault is an error of a document, in the form of RFC 7807. An activity may return one, to choose the type and status that the document
// catches. A document that does not catch a Fault fails its instance with it.
type Fault struct { //nolint:errname // the word of the standard
	Type     string `json:"type"`
	Status   int    `json:"status"`
	Instance string `json:"instance,omitempty"` // the path of the task in the document, such as /do/0/charge
	Title    string `json:"title,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// Error returns title, type, status, place and detail.
func (f *Fault) Error() string {
	text := f.Title
	if text == "" {
		text = "fault"
	}
	text += fmt.Sprintf(" (%s, status %d)", f.Type, f.Status)
	if f.Instance != "" {
		text += " at " + f.Instance
	}
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	return text
}

// data returns the fault as expressions see it.
func (f *Fault) data() map[string]any {
	data := map[string]any{"type": f.Type, "status": f.Status}
	for key, text := range map[string]string{"instance": f.Instance, "title": f.Title, "detail": f.Detail} {
		if text != "" {
			data[key] = text
		}
	}
	return data
}

// faultOf returns the fault that a document sees in place of the failure of a call or child at a task.
func faultOf(err error, title, ref string) *Fault {
	var own *Fault
	switch {
	case errors.As(err, &own):
		fault := *own
		if fault.Instance == "" {
			fault.Instance = ref
		}
		return &fault
	case errors.Is(err, orchestration.ErrTimeout):
		return &Fault{Type: TypeTimeout, Status: 408, Instance: ref, Title: title, Detail: err.Error()}
	default:
		return &Fault{Type: TypeCommunication, Status: 500, Instance: ref, Title: title, Detail: err.Error()}
	}
}

// expressionFault is that of an expression which failed.
func expressionFault(err error, ref string) *Fault {
	return &Fault{Type: TypeExpression, Status: 400, Instance: ref, Title: "the expression failed", Detail: err.Error()}
}
