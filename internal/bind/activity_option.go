package bind

import "github.com/perdure/perdure/internal/history"

// ActivityOption is embedded in orchestration.ActivityOption.
type ActivityOption interface {
	applyActivity(call *history.ActivityScheduled) error
}

// ActivityOptionFunc is an ActivityOption.
type ActivityOptionFunc func(call *history.ActivityScheduled) error

func (f ActivityOptionFunc) applyActivity(call *history.ActivityScheduled) error { return f(call) }

// ApplyActivity applies options of a call of an activity in order, and returns the first error.
func ApplyActivity[Option ActivityOption](opts []Option, call *history.ActivityScheduled) error {
	return Apply(opts, func(o Option) error { return o.applyActivity(call) })
}

// WithActivityOptions returns a handle of the same scope, whose calls have the options besides those of c.
func WithActivityOptions[Option ActivityOption](c *Context, opts []Option) Context {
	of := ActivityOptionsOf(c)
	all := make([]ActivityOption, len(of), len(of)+len(opts))
	copy(all, of)
	for _, o := range opts {
		all = append(all, o)
	}
	with := more{options: all}
	with.interceptors, with.from = InterceptorsOf(c)
	return Context{scope: c.scope, more: &with}
}

// ActivityOptionsOf returns the options that a handle gives to calls of activities.
func ActivityOptionsOf(c *Context) []ActivityOption {
	if c.more == nil {
		return nil
	}
	return c.more.options
}
