package access

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/perdure/perdure/provider"
)

// ErrForbidden is client.ErrForbidden.
var ErrForbidden = errors.New("not allowed")

// A Caller makes calls of a store in somebody's name. Any number of goroutines may use it at once.
type Caller struct {
	Store     *Store
	Principal *Principal // nil: the service itself, which has all rights and writes no audit
	// Interceptor is called around each act and query; nil: none.
	Interceptor Interceptor
	// Filter checks a *client.Filter. It returns the filter in the storage's form, and reports whether the list leaves out the instances of
	// perdure itself.
	Filter func(f any) (stored provider.Filter, users bool, err error)
	// StartSystem starts an orchestration of perdure itself.
	StartSystem func(ctx context.Context, s SystemStart) (Target, error)
	// Message reads a stored message.
	Message func(stored []byte) (Message, error)
	// FailureText returns the text in an excerpt of an error. It is whole, or the beginning of a longer one. An error means that the excerpt
	// cannot be read, as by a client without the key.
	FailureText func(excerpt []byte) (text string, whole bool, err error)
	// Limits returns what enforces the time limits of instances.
	Limits func() LimitKeeper
	// BulkActs returns what a bulk job does on an instance, by client.Act.
	BulkActs func() map[string]BulkAct
}

// A LimitKeeper ends instances whose time limit is over, for one process. It is for one goroutine.
type LimitKeeper interface {
	// Look ends what is over. Whole looks at all limits, and else only at those that were due since the last look. A process that is
	// not the first one acts a little later. Look returns when the next limit of a whole look is due, as a time from now; 0: none is.
	Look(ctx context.Context, whole bool, first func() bool) (next time.Duration, err error)
}

// A Message is what people see of a message.
type Message struct {
	Kind    string
	Name    string // of an event
	Payload json.RawMessage
}

// A SystemStart is the start of an orchestration of perdure itself.
type SystemStart struct {
	Name, ID   string
	Version    string // "": 1
	Policy     provider.IDPolicy
	Input      any
	Attributes []provider.Attribute
	// The start is an act of its own, with the client.Act and a detail for the audit, or it is within an act that Perform has checked. One
	// within an act is made with all rights, and is not in the audit.
	Act, Detail string
	WithinAct   bool
}

// A Principal is who a Caller acts for.
type Principal struct {
	Name string
	Role string
	// Needs returns the least role that an act needs, and reports whether the principal may do the act. The act is a client.Act.
	Needs func(act string) (role string, may bool)
}

// Handle is embedded in client.Client, so that package operate reaches the Caller of a client and nobody else does.
type Handle struct{ caller *Caller }

func (h *Handle) access() *Handle { return h }

// HandleOf makes the Handle of a client.
func HandleOf(c *Caller) Handle { return Handle{c} }

// CallerOf returns the argument of HandleOf; nil for a nil or a zero client.
func CallerOf[C any, P interface {
	*C
	access() *Handle
}](client P) *Caller {
	if client == nil {
		return nil
	}
	return client.access().caller
}
