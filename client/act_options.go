package client

import (
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/history"
)

// ActOption is an option of Suspend and Resume. [Repeatable] makes one.
type ActOption interface {
	applyAct(o *actOptions) error
}

// RestartOption is an option of Restart. [Repeatable] and [RestartAs] make one.
type RestartOption interface {
	applyRestart(o *restartOptions) error
}

// RepeatOption is an option of all acts that may be repeated under a request ID.
type RepeatOption interface {
	OpenOption
	ActOption
	RestartOption
}

type actOptions struct{ requestID string }

type repeatable string

// Repeatable makes an act repeatable: a call with the same request ID happens once. An instance remembers the last 100 of its
// resets, terminations and other acts.
func Repeatable(requestID string) RepeatOption { return repeatable(requestID) }

func (r repeatable) check() error { return access.Name("request ID", string(r)) }

func (r repeatable) applyReset(o *history.Opening) error {
	o.RequestID = string(r)
	return r.check()
}

func (r repeatable) applyFork(o *history.Opening) error { return r.applyReset(o) }

func (r repeatable) applyAct(o *actOptions) error {
	o.requestID = string(r)
	return r.check()
}

func (r repeatable) applyRestart(o *restartOptions) error {
	o.requestID = string(r)
	return r.check()
}

// actOptionsOf applies options.
func actOptionsOf(opts []ActOption) (o actOptions, err error) {
	err = bind.Apply(opts, func(opt ActOption) error { return opt.applyAct(&o) })
	return o, access.Option(err)
}
