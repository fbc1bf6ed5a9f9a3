package runtime

import (
	"context"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// StartVersions starts a node that also runs registered orchestrations under code versions. The registry has no call
// for that. versions maps each version to its registered name.
func StartVersions(ctx context.Context, store provider.Provider, reg *Registry, opts Options, versions map[provider.Capability]string) (*Runtime, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	cfg, err := reg.config(store, opts)
	if err != nil {
		return nil, err
	}
	for version, name := range versions {
		cfg.Orchestrations[version] = reg.orchestrations[provider.Capability{Name: name}].body
	}
	rt := &Runtime{store: store, owner: cfg.Owner, can: capabilitiesOf(cfg)}
	if err := register(ctx, &cfg, upgrade.OwnLevel(ctx)); err != nil {
		return nil, err
	}
	rt.dispatcher = dispatcher.Start(cfg) //nolint:contextcheck // ctx bounds starting only
	return rt, nil
}

// Filled returns options with the defaults filled in.
func (o Options) Filled() (Options, error) { return o.withDefaults() }

// Drain makes the node take no new work, as an operator does.
func (rt *Runtime) Drain() { rt.dispatcher.Drain() }

// Undrain makes it take work again.
func (rt *Runtime) Undrain() { rt.dispatcher.Undrain() }

// Pause replaces the set of paused queues.
func (rt *Runtime) Pause(queues ...string) {
	paused := make(map[string]bool)
	for _, q := range queues {
		paused[q] = true
	}
	rt.dispatcher.PauseQueues(paused)
}
