package sealing

import (
	"context"
	"log/slog"
	"slices"
)

// Quiet returns a logger for the engine whose lines have no texts of user code: errors and values of panics. Errors of the store and of the codec
// stay, as do stacks, which have no values. User code keeps the logger that it has.
func Quiet(l *slog.Logger) *slog.Logger { return slog.New(quiet{l.Handler()}) }

type quiet struct{ slog.Handler }

// hidden stands in place of a text of user code.
const hidden = "(hidden, because payloads are encrypted)"

// ownLines are the lines whose errors are those of the store, the codec or perdure itself. The errors of all others are hidden.
//
//nolint:gochecknoglobals // constant table
var ownLines = []string{
	"storage does not answer: trying again", "turn given back", "question cannot be read", "report of an activity refused",
	"the record of this node is not renewed: trying again in a minute", "instance is poisoned: held until unblocked",
	"too many leaked goroutines; restart the process",
}

// because are the lines of executions that say in other attributes why something was not done, which may name a value.
//
//nolint:gochecknoglobals // constant table
var because = map[string]string{"state could not be stored": "why", "figures of the code were left out": "first"}

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if slices.Contains(ownLines, r.Message) {
		return q.Handler.Handle(ctx, r) //nolint:wrapcheck // it is the handler of the user
	}
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == because[r.Message] {
			a = slog.String(a.Key, hidden)
		}
		out.AddAttrs(hide(a))
		return true
	})
	return q.Handler.Handle(ctx, out) //nolint:wrapcheck // as above
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = hide(a)
	}
	return quiet{q.Handler.WithAttrs(out)}
}

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// hide hides what may be a text of user code.
func hide(a slog.Attr) slog.Attr {
	switch a.Key {
	case "err", "error", "panic":
		return slog.String(a.Key, hidden)
	}
	return a
}
