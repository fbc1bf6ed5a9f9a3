package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// WithActivityOptions returns a Context of the same scope with options for the calls of activities that are made with it, and with all that
// is made from it: child scopes, coroutines and handlers.
//
//	ctx = ctx.WithActivityOptions(orchestration.WithStartToCloseTimeout(time.Minute))
//
// A call's own options count before these, and these before those of runtime.Defaults. Options that are given to a Context that has some
// count before those. An option replaces the one of its kind as a whole, also a retry policy. AtMostOnce cannot be taken back.
//
// Local activities have their own options only: they run inside the turn, and what such a call does to the code is not stored before it
// ends. Children have none of these options.
//
// The options are code of the orchestration: each call stores what it got, and a change of them counts for later calls. An option that is
// not allowed fails each call with ErrInvalid.
func (c *Context) WithActivityOptions(opts ...ActivityOption) *Context {
	c.engine()
	return &Context{bind.WithActivityOptions(&c.handle, opts)}
}

// newCall returns a call with the options of its registration. Nodes may differ in these, and a replay knows only its own. So they must
// never decide whether a call is made: they were checked when they were registered, and nothing judges them here.
func newCall(scope *replay.Scope, name string) *history.ActivityScheduled {
	call := &history.ActivityScheduled{Queue: DefaultQueue}
	if registered := scope.Env().Defaults[name]; registered != nil {
		*call = *registered
	}
	call.Name = name
	return call
}

// applyScope applies the options of WithActivityOptions.
func applyScope(ctx *Context, call *history.ActivityScheduled) error {
	if err := bind.ApplyActivity(bind.ActivityOptionsOf(&ctx.handle), call); err != nil {
		return refused("calling activity", call.Name, fmt.Errorf("an option of WithActivityOptions: %w", err))
	}
	return nil
}
