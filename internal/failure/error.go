package failure

import "encoding/json"

// Error is an error that came out of the store, or one that code makes to set these
// fields itself.
type Error struct {
	// Type is the name that a sentinel or type was added to a Set with, else the name
	// of the Go type, such as *shop.DeclinedError. It is empty for errors made by the
	// packages errors and fmt.
	Type    string
	Message string
	// Details is the JSON of a registered type.
	Details json.RawMessage
	// NonRetryable tells retry policies to give up.
	NonRetryable bool
	Causes       []error

	code       string // of an error of the engine, also one this release does not know
	registered bool   // Type is a name of a Set, also one this process does not know
	stands     error  // the sentinel or value that this error was before it was stored; is not stored itself
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the sentinel or value that e was before it was stored, if that is
// known, and the causes.
func (e *Error) Unwrap() []error {
	if e.stands == nil {
		return e.Causes
	}
	return append([]error{e.stands}, e.Causes...)
}
