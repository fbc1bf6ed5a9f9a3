package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// ErrLeaked is part of the error of Shutdown if user code did not end in time. The error names the code.
var ErrLeaked = dispatcher.ErrLeaked

// ErrTooManyLeaks means that more instances have leaked code than LeakOptions.MaxInstances allows. LeakOptions.OnFatal and Health.Fatal get it.
// Shutdown returns it, too, if the node ended for that reason.
var ErrTooManyLeaks = dispatcher.ErrTooManyLeaks

// Runtime is a running node. Several goroutines may call its methods at once.
type Runtime struct {
	store      provider.Provider
	dispatcher *dispatcher.Dispatcher
	owner      string
	can        capabilities
	fallbacks  *fallback.Set
	errors     *orchestration.Errors
	logger     *slog.Logger
	unmeasured sync.Once // health has said that the store measures nothing

	propagators []header.Propagator
	watch       *observing.Hub // nil: nobody observes
	unwatch     func()         // ends what the Observer reads of the node; nil: nothing
}

// Start runs the registered orchestrations and activities on the store until Shutdown. ctx bounds starting only. The caller
// closes the store, after Shutdown.
//
// The error is ErrInvalid for an argument or option, or ErrRegistration with all that the registry has refused.
// Otherwise it is that of a store that cannot be read or written.
func Start(ctx context.Context, store provider.Provider, reg *Registry, opts Options) (*Runtime, error) {
	if err := checkStart(ctx, store, reg); err != nil {
		return nil, fmt.Errorf("starting runtime: %w: %w", ErrInvalid, err)
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("starting runtime: %w", err)
	}
	if reg, err = reg.withTest(ctx); err != nil {
		return nil, fmt.Errorf("starting runtime: %w", err)
	}
	sealed := new(sealingOf)
	store = sealed.decorate(store, &opts)
	cfg, err := reg.config(store, opts)
	if err != nil {
		return nil, fmt.Errorf("starting runtime: %w", err)
	}
	sealed.configure(&cfg, &opts)
	cfg.Bubble = bubble.Of(ctx)
	if err := addSystem(ctx, &cfg, opts.Logger); err != nil {
		return nil, fmt.Errorf("starting runtime: %w", err)
	}
	cfg.Off = fastpath.Off(ctx)
	checking, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := checkStore(checking, store, &opts); err != nil {
		return nil, fmt.Errorf("starting runtime: asking the store: %w", err)
	}
	// Nothing is released: this finds out whether the store takes writes at all. The node waits out faults that may pass.
	if _, err := store.ReleaseTurns(checking, provider.ReleaseTurnsRequest{}); err != nil && !provider.Retryable(err) {
		return nil, fmt.Errorf("starting runtime: a node writes all the time, and the store takes no writes: %w", err)
	}
	if err := register(checking, &cfg, upgrade.OwnLevel(ctx)); err != nil {
		return nil, fmt.Errorf("starting runtime: %w", err)
	}
	if err := sealed.check(checking, cfg.Level); err != nil {
		return nil, fmt.Errorf("starting runtime: option Codec: %w", err)
	}
	if err := keep(ctx, store, &opts); err != nil {
		return nil, fmt.Errorf("starting runtime: option Retention: %w", err)
	}
	rt := &Runtime{
		store: store, owner: cfg.Owner, can: capabilitiesOf(cfg), fallbacks: cfg.Fallbacks, errors: reg.Errors(), logger: opts.Logger, propagators: cfg.Propagators,
		watch: cfg.Watch,
	}
	started := make(chan struct{})
	rt.observeStore(&cfg, started)
	var began atomic.Pointer[dispatcher.Dispatcher]
	rt.unwatch = watchNode(&cfg, &began)
	rt.dispatcher = dispatcher.Start(cfg) //nolint:contextcheck // ctx bounds starting only
	began.Store(rt.dispatcher)
	close(started)
	return rt, nil
}

func checkStart(ctx context.Context, store provider.Provider, reg *Registry) error {
	switch {
	case check.IsNil(store):
		return errors.New("there is no store: open one first")
	case reg == nil:
		return errNoRegistry
	}
	return check.Context(ctx)
}

// checkStore makes sure that the store can be read and has what the options need.
func checkStore(ctx context.Context, store provider.Provider, o *Options) error {
	full := provider.FullOf(store)
	if _, ok := provider.As[provider.Keeper](store); !ok && o.hasRates() {
		return fmt.Errorf("option QueueLimits: nodes share a rate through records: %w", provider.Lacking("record", "Keeper"))
	}
	_, err := full.Stats(ctx, provider.StatsRequest{})
	if errors.Is(err, errors.ErrUnsupported) {
		_, err = store.Get(ctx, provider.GetRequest{ID: "perdure"})
	}
	if errors.Is(err, provider.ErrNotFound) {
		return nil
	}
	return err
}

// Shutdown ends the node. It takes no new work, lets turns finish, and lets activities run for the drain timeout. It cancels
// the others with activity.ErrShutdown and gives them the force timeout. Then it releases all leases and waits for code that
// has not returned, for the watchdog timeout. A finished ctx, of any caller, skips the waits; leases are still released within
// 5 s. It returns an ErrLeaked for all user code that is still running. A second call returns the same.
func (rt *Runtime) Shutdown(ctx context.Context) error {
	err := rt.dispatcher.Shutdown(ctx)
	rt.watch.Flush(flushTime)
	if rt.unwatch != nil {
		rt.unwatch()
	}
	return err
}

// flushTime bounds how long Shutdown waits for the Observer.
const flushTime = 2 * time.Second

// Node returns the link from a client in this process to this node: see client.Options.
func (rt *Runtime) Node() client.Node { return bind.NodeOf[client.Node](bind.Starter(rt.dispatcher)) }

// Client makes a client of the node's store that starts instances through this node. An instance is stored with its
// first turn, which saves a commit. The errors of the registry, the node's logger, its propagators and its observer are the defaults
// of the options.
// The client works on after the node has shut down.
func (rt *Runtime) Client(opts client.Options) (*client.Client, error) {
	if opts.Node == (client.Node{}) {
		opts.Node = rt.Node()
	}
	if opts.Errors == nil {
		opts.Errors = rt.errors
	}
	if opts.Logger == nil {
		opts.Logger = rt.logger
	}
	if opts.Propagators == nil {
		opts.Propagators = rt.propagators
	}
	return client.New(rt.store, opts)
}

// Owner returns the name under which this node holds leases. It is unique to this Start.
func (rt *Runtime) Owner() string { return rt.owner }

// config returns the configuration of the dispatcher.
func (r *Registry) config(store provider.Provider, o Options) (dispatcher.Config, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.problems) > 0 {
		return dispatcher.Config{}, errors.Join(r.problems...)
	}
	if len(r.orchestrations)+len(r.activities)+len(r.orchestrationFallbacks)+len(r.activityFallbacks) == 0 {
		return dispatcher.Config{}, fmt.Errorf("%w: the registry is empty: add orchestrations or activities first", ErrInvalid)
	}
	cfg := dispatcher.Config{
		Provider: store, Owner: ownerName(o.Name), Logger: o.Logger,
		Activities: make(map[string]map[string]bind.ActivityFunc),
		MaxTurns:   o.MaxConcurrentTurns, MaxActivities: o.MaxConcurrentActivities,
		CacheCount: o.Cache.Executions, CacheBytes: o.Cache.Bytes, CacheIdle: o.Cache.Idle,
		Lease: o.Lease, DeadlockLimit: o.DeadlockLimit, LocalTime: o.LocalActivityTime,
		PoisonLimit: int64(o.PoisonLimit), MaxTurnBackoff: maxTurnBackoff,
		DrainTimeout: o.Shutdown.DrainTimeout, ForceTimeout: o.Shutdown.ForceTimeout, WatchdogTimeout: o.Shutdown.WatchdogTimeout,
		GracePeriod: o.Leaks.GracePeriod, InterruptInterval: o.Leaks.InterruptInterval, MaxInterruptInterval: o.Leaks.MaxInterruptInterval,
		GiveUpAfter: o.Leaks.GiveUpAfter, MaxLeaked: o.Leaks.MaxInstances, OnFatal: o.Leaks.OnFatal,
		OnDrained: o.OnDrained, HeartbeatThrottle: o.Heartbeats.DefaultThrottle, MaxHeartbeatThrottle: o.Heartbeats.MaxThrottle,
		AutoHeartbeat: o.Heartbeats.Auto, AutoHeartbeats: r.autoHeartbeats(), Propagators: slices.Clone(o.Propagators),
		Watch: observing.New(o.Observer, o.Logger),
	}
	if _, keeps := provider.As[provider.Keeper](store); keeps && !o.NoFigures {
		cfg.Figures = figures.NewCounter()
	}
	o.route(&cfg)
	if err := r.served(o); err != nil {
		return dispatcher.Config{}, err
	}
	limits, err := r.limits(o.Pools)
	if err != nil {
		return dispatcher.Config{}, err
	}
	cfg.Limits, cfg.Fallbacks = limits, r.fallbacks(o.serves)
	for key, entry := range r.activities {
		if o.serves(key.queue) {
			if cfg.Activities[key.queue] == nil {
				cfg.Activities[key.queue] = make(map[string]bind.ActivityFunc)
			}
			cfg.Activities[key.queue][key.name] = r.attempt(entry.fn)
		}
	}
	cfg.Orchestrations, cfg.Env = r.code(o.Logger)
	return cfg, nil
}

// code returns the orchestrations, and what their executions get. It needs r.mu.
func (r *Registry) code(logger *slog.Logger) (map[provider.Capability]replay.Body, *replay.Env) {
	bodies := make(map[provider.Capability]replay.Body)
	orchestrations := newNames("orchestration")
	for of, entry := range r.orchestrations {
		bodies[of] = entry.body
		orchestrations.add(of.Name, entry.pointer, entry.code)
	}
	activities := newNames("activity")
	for key, entry := range r.activities {
		if entry.symbol != "" {
			activities.addFound(key.name, entry.symbol)
		} else {
			activities.add(key.name, entry.pointer, entry.code)
		}
	}
	return bodies, &replay.Env{
		NewKey: dispatcher.NewKey, Logger: logger, Errors: failure.Snapshot(bind.SetOf(r.errorsLocked())),
		Activities: activities, Defaults: r.defaults(), Orchestrations: orchestrations, Newest: newestOf(bodies),
		Interceptors: r.around(),
	}
}

// ownerName is unique to each Start, so that a restarted node never takes its
// predecessor's leases for its own.
func ownerName(name string) string {
	if name == "" {
		name, _ = os.Hostname()
	}
	return fmt.Sprintf("%s-%d-%s", name, os.Getpid(), uuid.NewString()[:8])
}
