package replay

import (
	"context"
	"log/slog"
)

// Logger writes only when code runs for the first time: nothing on replay and nothing
// while code is unwound.
func (s *Scope) Logger() *slog.Logger {
	s.x.look()
	return s.x.log()
}

// log makes the logger when it is asked for first: most executions never log, and all that sleep would hold one.
func (x *Execution) log() *slog.Logger {
	if x.logger == nil {
		x.logger = slog.New(&logHandler{x: x, inner: x.env.Logger.Handler()}).With(
			"instance", x.info.ID, "execution", x.info.Execution, "orchestration", x.info.Name)
	}
	return x.logger
}

// logHandler drops what code logs while it is replayed or unwound.
type logHandler struct {
	x     *Execution
	inner slog.Handler
}

func (h *logHandler) muted() bool { return h.x.replaying.Load() || h.x.closed.Load() }

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.muted() && h.inner.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.muted() {
		return nil
	}
	if h.x.held.Load() != nil {
		kept := r.Clone()
		if h.x.holdBack(func() { _ = h.inner.Handle(ctx, kept) }) {
			return nil
		}
	}
	return h.inner.Handle(ctx, r) //nolint:wrapcheck // a handler answers for the one that it wraps
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{x: h.x, inner: h.inner.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{x: h.x, inner: h.inner.WithGroup(name)}
}
