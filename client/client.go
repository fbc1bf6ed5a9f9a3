package client

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/sealing"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/internal/propagate"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// defaultCallTimeout is the default of Options.CallTimeout.
const defaultCallTimeout = 30 * time.Second

// Options are the settings of a Client. The zero value is right for most programs.
type Options struct {
	// Logger receives storage calls that failed and are repeated; default: slog.Default().
	Logger *slog.Logger
	// Errors are the errors of user code that errors.Is and errors.As find in a failed instance. Take them from the
	// registry. With nil, errors keep only message and type name.
	Errors *orchestration.Errors
	// CallTimeout bounds one call of the storage, repeats after failures included; default 30 s. A method may make several.
	// orchestration.Off: only the context bounds it. Handle.Wait is bounded by its context only, also while the storage is away.
	CallTimeout time.Duration
	// MaxBacklog holds starts back while as many turns and activities wait in the store that could run and no node has taken yet.
	// Give more than the nodes take in a tenth of a second, and less than they do in the time that a step may wait. Starts inside
	// a transaction of the caller never wait, because nodes may be waiting for that transaction. 0: no limit.
	MaxBacklog int
	// Overload says what a start does while the backlog is too large; default Block. WithOverload overrides it.
	Overload OverloadPolicy
	// Propagators add to the headers of starts, events and requests to cancel what the context of the call holds; default none.
	// See package header.
	Propagators []header.Propagator
	// Interceptors are called around the acts and queries of this client, the first one outermost; default none. See [Interceptor].
	Interceptors []Interceptor
	// Observer gets to know of the calls of this client; default that of the node, or none. See package observe, and Client.Flush.
	Observer observe.Observer
	// Codec encrypts what the client stores and decrypts what it reads; default: that of Node, or none. Runtime.Client takes none, since it
	// has that of the runtime. A store that does not allow engine level 12 yet refuses what is encrypted with ErrNotFinished. See
	// docs/how-to/encrypt-payloads.md.
	Codec codec.Codec
	// Node is the node in this process that starts of this client go through; default none. A free node stores an
	// instance with its first turn, which saves a commit. It must be a node on the client's store. Either side may have
	// decorated the store: these starts use the store of the node. Runtime.Client sets this field.
	Node Node
}

// Client starts, observes and steers the instances of a store. Make it with [New]. Many goroutines may use it at once. It
// starts none itself and need not be closed.
type Client struct {
	accessible // to package operate

	caller  *access.Caller // nil in a zero Client
	store   *storage       // that of caller
	errors  *failure.Set
	backlog *backlog // nil: no limit
	policy  OverloadPolicy
	node    bind.Starter   // makes first turns; nil: no node of this process
	level   *upgrade.Level // that the store allows
	clock   *storageClock

	searchBudget time.Duration // of tests; 0: the constant

	propagators []header.Propagator
	versions    *versionCache
	watch       *observing.Hub  // nil: nobody observes
	faults      *sealing.Faults // of the codec; nil: it has none of its own
	principal   *Principal      // that of caller; nil: all rights, and no audit
}

type accessible = access.Handle

// Node is a node of the client's own process: see runtime.Runtime.Node. The zero Node is none.
type Node struct{ handle }

type handle = bind.Node

// New makes a client of a store. It does not touch the store. Without a store, or with an invalid option, it returns
// ErrInvalid.
//
// In the process of a node, use Runtime.Client: it makes a client that starts instances through that node.
func New(store provider.Provider, opts Options) (*Client, error) {
	if err := opts.check(store); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	watch := observing.New(opts.Observer, opts.Logger)
	if node := bind.StarterOf(&opts.Node.handle); watch == nil && node != nil {
		watch = node.Watch()
	}
	c := new(Client)
	store = c.sealing(store, &opts)
	s := &storage{Store: &access.Store{
		Full: provider.FullOf(observing.Timed(store, watch)), Logger: opts.Logger, Timeout: opts.CallTimeout,
	}}
	caller := &access.Caller{Store: s.Store, Interceptor: newInterceptors(opts.Interceptors)}
	*c = Client{
		accessible: access.HandleOf(caller), caller: caller, store: s, errors: bind.SetOf(opts.Errors), policy: opts.Overload, faults: c.faults,
	}
	c.node = bind.StarterOf(&opts.Node.handle)
	c.serve(caller)
	c.propagators, c.versions, c.clock, c.watch = slices.Clone(opts.Propagators), newVersionCache(), &storageClock{}, watch
	if c.errors == nil {
		c.errors = bind.SetOf(orchestration.NewErrors())
	}
	if opts.MaxBacklog > 0 {
		c.backlog = newBacklog(opts.MaxBacklog, s)
	}
	if s.Logger == nil {
		s.Logger = slog.Default()
	}
	if c.node != nil {
		c.level = c.node.Level()
	} else {
		c.level = upgrade.New(s.Full, replay.EngineLevel)
	}
	switch opts.CallTimeout { //nolint:exhaustive // other durations are used as they are
	case 0:
		s.Timeout = defaultCallTimeout
	case orchestration.Off:
		s.Timeout = 0
	}
	return c, nil
}

// check refuses invalid options.
func (o *Options) check(store provider.Provider) error {
	switch badLogger := check.Logger(o.Logger); {
	case check.IsNil(store):
		return fmt.Errorf("%w: the client has no store: give client.New an open one", ErrInvalid)
	case badLogger != nil:
		return fmt.Errorf("%w: client option %w", ErrInvalid, badLogger)
	case propagate.CheckAll(o.Propagators) != nil:
		return fmt.Errorf("%w: client %w", ErrInvalid, propagate.CheckAll(o.Propagators))
	case o.checkCodec(store) != nil:
		return o.checkCodec(store)
	case checkInterceptors(o.Interceptors) != nil:
		return checkInterceptors(o.Interceptors)
	case o.MaxBacklog > 0 && !measures(store):
		return fmt.Errorf("client option MaxBacklog: %w", provider.Lacking("stats", "Meter"))
	case o.MaxBacklog < 0:
		return fmt.Errorf("%w: client option MaxBacklog is %d: give 1 or more, or 0 for no limit", ErrInvalid, o.MaxBacklog)
	case o.Overload.check() != nil:
		return fmt.Errorf("client option Overload: %w", o.Overload.check())
	case o.CallTimeout < 0 && o.CallTimeout != orchestration.Off:
		return fmt.Errorf("%w: client option CallTimeout is %v: give more than zero, 0 for %v, or orchestration.Off (-1) for none",
			ErrInvalid, o.CallTimeout, defaultCallTimeout)
	}
	return nil
}

// measures reports whether the store can measure its backlog.
func measures(store provider.Provider) bool {
	_, ok := provider.As[provider.Meter](store)
	return ok
}
