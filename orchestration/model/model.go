// Package model is for other ways to write orchestrations than Go functions: an interpreter of documents, a state machine, a rules engine. Such an
// execution model claims names, and runs what is started under them on top of the language of package orchestration. Its instances are
// ordinary ones: everything else about them, from retries to the dashboard, is as for Go functions.
//
//	err := runtime.AddModel(reg, machines)
//
// A model claims few names, mostly one, and gets what it interprets as the input. What an instance does must not depend on what is
// registered, read or configured on its node, because it runs on other nodes, and again on each replay: a document that is found by its name could
// change under a running instance. The name or its version changes when the same input leads to other calls than before.
//
// Package serverless of the module model/serverless is a whole model: it interprets workflow documents.
//
// The package is experimental: its API may change in a minor release.
package model

import (
	"encoding/json"

	"github.com/perdure/perdure/orchestration"
)

// Name is an orchestration as a store knows it.
type Name struct {
	Name    string // 1 to 512 bytes of UTF-8
	Version string // of its code: see orchestration.Version; "": none
}

// Model runs orchestrations. Several goroutines call its methods at once.
type Model interface {
	// Orchestrations returns the names that the model claims. It is asked once, when it is registered. A name that is in use is refused.
	Orchestrations() []Name
	// New returns what runs one execution. It is called each time code begins: for a new execution, for each replay of its history, and for queries
	// that need one. It must not keep one for another execution, since the last run of it may go on.
	New(of Name) Execution
}

// Execution runs one execution. Its methods are orchestration code: they must be deterministic, and use the Context for all that lasts. They are
// not called at the same time, and may share its fields. An Execution may be an [EventHandler], a [QueryHandler] or an [UpdateHandler], too.
type Execution interface {
	// Run is the function of the orchestration. The input is JSON; nil: there is none. The output must be JSON, or nil. An error ends the
	// instance as one of a Go function does.
	Run(ctx *orchestration.Context, input json.RawMessage) (output json.RawMessage, err error)
}

// EventHandler is an [Execution] that handles the events of all names: see orchestration.HandleAnyEvent. Run may read mailboxes all the same, and
// register handlers of names.
type EventHandler interface {
	HandleEvent(ctx *orchestration.Context, e orchestration.Incoming) error
}

// QueryHandler is an [Execution] that answers the queries of all names: see orchestration.HandleAnyQuery. It only reads.
type QueryHandler interface {
	AnswerQuery(q orchestration.Incoming) (any, error)
}

// UpdateHandler is an [Execution] that handles the updates of all names: see orchestration.HandleAnyUpdate. ValidateUpdate only reads, and its
// error rejects the update.
type UpdateHandler interface {
	ValidateUpdate(u orchestration.Incoming) error
	HandleUpdate(ctx *orchestration.Context, u orchestration.Incoming) (any, error)
}
