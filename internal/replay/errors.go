package replay

import (
	"errors"
	"fmt"
)

// ErrBegunElsewhere means that a node has no code for an execution that other code has begun, although it runs the orchestration's name.
var ErrBegunElsewhere = errors.New("other code has begun this execution: a node that has registered the name must run it")

// NonDeterminismError says that the code does something else than the history holds.
type NonDeterminismError struct {
	EventID int64
	History string // what the history holds at that event
	Code    string // what the code did
	Source  string // file:line of the code; "" if it did nothing
	Patch   string // a patch of the history that the code has not asked for; "" for none
}

// Error implements error.
func (e *NonDeterminismError) Error() string {
	at := ""
	if e.Source != "" {
		at = " at " + e.Source
	}
	if e.Patch != "" {
		return fmt.Sprintf("code does not match history at event %d: history holds %s, the code did %s%s: "+
			"the history has the patch %q, which this code does not know: run the code that has it", e.EventID, e.History, e.Code, at, e.Patch)
	}
	return fmt.Sprintf("code does not match history at event %d: history holds %s, the code did %s%s: "+
		"run the code that wrote this history, or register the changed code under another name", e.EventID, e.History, e.Code, at)
}

// PanicError is a panic of the orchestration's code.
type PanicError struct {
	Value string
	Stack string
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("orchestration code panicked: %s\n%s", e.Value, e.Stack)
}

// WrongGoroutineError says that a goroutine other than its execution's code used a Context.
type WrongGoroutineError struct {
	When   string
	Source string
}

// Error implements error.
func (e *WrongGoroutineError) Error() string {
	return fmt.Sprintf("orchestration context used from a foreign goroutine %s at %s: use ctx.Go instead of the go statement", e.When, e.Source)
}

// ErrOneByOne fails a turn whose code asked for too much after several messages. The turn must be made again, with a
// Continue after each message.
var ErrOneByOne = errors.New("the code asks for too much in reaction to the messages of one turn")

var errGoexit = errors.New("orchestration code called runtime.Goexit")
