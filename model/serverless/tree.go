package serverless

import (
	"maps"
	"slices"
	"time"
)

// documentID names a document.
type documentID struct{ namespace, name, version string }

func (id documentID) String() string { return id.namespace + "/" + id.name + ":" + id.version }

// workflow is the tree of a document.
type workflow struct {
	id         documentID
	definition any
	from, as   *template
	timeout    *duration
	tasks      []*task
}

// task is one task of a list.
type task struct {
	name, ref        string
	definition       any
	cond             *expression
	from, as, export *template
	timeout          *duration
	then             directive
	work             work
}

// work is what a task does: see run.
type work interface {
	run(s *step) (output any, next *directive, err error)
}

// flow says where a list of tasks goes on.
type flow int

const (
	flowContinue flow = iota // with the next task of the list
	flowExit                 // after the list
	flowEnd                  // nowhere: the workflow ends
	flowTo                   // with a task of the same list
)

// directive is what then says.
type directive struct {
	flow flow
	to   int // of flowTo: the place in the list
}

// duration is a time that the document fixes, or an expression whose result is a time of ISO 8601.
type duration struct {
	fixed time.Duration
	expr  *expression
	ref   string
}

// raised is an error that a task raises.
type raised struct{ kind, status, title, detail *template }

// retry says when a failed try runs again.
type retry struct {
	when, exceptWhen *expression
	delay            *duration
	backoff          backoff
	jitterFrom       time.Duration
	jitterTo         time.Duration
	count            int       // of tries after the first; -1: no limit
	attempt, total   *duration // nil: no limit
	shared           bool      // it is one of use.retries: its expressions see $error
}

// backoff says how the delay grows.
type backoff int

const (
	backoffConstant backoff = iota
	backoffLinear
	backoffExponential
)

// The tasks of the subset.
type (
	doWork     struct{ tasks []*task }
	setWork    struct{ value *template }
	switchWork struct{ cases []switchCase }
	forWork    struct {
		each, at  string // variables, with their $
		in, while *expression
		tasks     []*task
	}
	forkWork struct {
		compete  bool
		branches []*task
	}
	tryWork struct {
		tasks []*task
		catch catch
	}
	raiseWork  struct{ err *raised }
	waitWork   struct{ wait *duration }
	listenWork struct {
		all    bool
		events []string
	}
	callWork struct {
		activity string
		with     *template // nil: the input of the task
	}
	childWork struct {
		orchestration, version string
		document               *Document // nil: an orchestration in Go
		input                  *template // nil: the input of the task
	}
)

// switchCase is a case of a switch; without a condition it is the default.
type switchCase struct {
	when *expression
	then directive
}

// catch says which errors a try handles, and how.
type catch struct {
	with             map[string]any // fields that the error must have
	as               string         // variable, with its $
	when, exceptWhen *expression
	retry            *retry
	tasks            []*task // nil: none
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
