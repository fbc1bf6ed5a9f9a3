package orchestration

import "github.com/perdure/perdure/observe"

// Attr returns an attribute of a figure: see [Context.Count].
func Attr(name, value string) observe.Attr { return observe.Attr{Name: name, Value: value} }

// Count adds n, which is not negative, to a count that the observer of the node gets: see runtime.Options.Observer. The observer gets one
// event of the kind observe.Counted for each name with its attributes, when what the code does until it waits is stored.
//
//	ctx.Count("orders_refused", 1, orchestration.Attr("reason", "stock"))
//
// A figure is told at most once, and it is no part of the history. Nothing is told on a replay, and nothing of a turn whose commit failed, met a
// conflict, or has an outcome that the node never learns. A crash right after the commit loses the figures of that turn. Do not count
// what must be exact: set a value, or call an activity.
//
// Names have 1 to 100 ASCII letters, digits and underscores, and begin with a letter. A figure has at most 8 attributes, each with a
// value of at most 128 bytes of UTF-8 without NUL, and a turn has at most 1,000 figures. What is not allowed or beyond the limits is left out. The log
// has it once for each turn, and Stats.FiguresLost counts it. Code cannot see what becomes of a figure.
//
// Use few names and few values of attributes: each combination is a series of its own.
//
// A handler of a query and a validator of an update must not call it.
func (c *Context) Count(name string, n int64, attrs ...observe.Attr) {
	c.engine().Count(name, n, attrs)
}

// Observe tells the observer of the node a value, such as an amount or a number of items: a finite number. It makes one event of the kind
// observe.Observed. See [Context.Count] for all else.
func (c *Context) Observe(name string, value float64, attrs ...observe.Attr) {
	c.engine().Observe(name, value, attrs)
}
