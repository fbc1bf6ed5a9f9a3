package replay

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
)

// errSpeculative fails a speculative turn whose code does more than ask for things.
var errSpeculative = errors.New("a side effect in a turn that may be thrown away")

// codeLog is the log of an execution's code. It holds back the lines of a speculative turn.
type codeLog struct {
	logger *slog.Logger
	held   atomic.Pointer[heldLines] // of a speculative turn
}

type heldLines struct {
	mu    sync.Mutex // code may log from other goroutines, too
	lines []func()
}

// holdBack keeps a line, and reports false if no turn is speculative.
func (l *codeLog) holdBack(line func()) bool {
	held := l.held.Load()
	if held == nil {
		return false
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	held.lines = append(held.lines, line)
	return true
}

// release writes the lines of a speculative turn that is stored.
func (l *codeLog) release() {
	held := l.held.Swap(nil)
	if held == nil {
		return
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	for _, line := range held.lines {
		write(line)
	}
}

// write calls a handler of the user's. Its panic must not spoil a turn that is stored.
func write(line func()) {
	defer func() { _ = recover() }()
	line()
}

// Speculate marks the turn as speculative, before anything is applied. Its instance is not stored yet, so the turn may
// be discarded although no node is lost. Until Confirm it leaves no trace: log lines are held back, and a side effect
// fails it.
func (x *Execution) Speculate() { x.log.held.Store(&heldLines{}) }

// Logger returns a logger that writes only when code runs for the first time: nothing on replay and nothing
// while code is unwound.
func (s *Scope) Logger() *slog.Logger {
	s.x.sched.checkReader()
	return s.x.logger()
}

// logHandler drops what code logs while it is replayed or unwound.
type logHandler struct {
	x     *core
	inner slog.Handler
}

func (h *logHandler) muted() bool { return h.x.events.replaying.Load() || h.x.sched.closed.Load() }

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.muted() && h.inner.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.muted() {
		return nil
	}
	if h.x.log.held.Load() != nil {
		kept := r.Clone()
		if h.x.log.holdBack(func() { _ = h.inner.Handle(ctx, kept) }) {
			return nil
		}
	}
	return h.inner.Handle(ctx, r) //nolint:wrapcheck // a handler returns the errors of the one that it wraps
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{x: h.x, inner: h.inner.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{x: h.x, inner: h.inner.WithGroup(name)}
}
