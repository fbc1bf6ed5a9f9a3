package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// ReplayError says how code differs from a stored history. A node with this code would block the instance.
type ReplayError struct {
	InstanceID    string
	Execution     int64
	Orchestration string
	CodeVersion   string
	EventID       int64  // where the code differs; 0: the code is not registered
	Expected      string // what the history holds there
	Got           string // what the code did
	Source        string // file:line of the code; "": not known
	Stack         string // where its coroutines wait, if it did nothing, or that of a panic; "": none
	Hint          string // how to mend it
}

// Error implements error.
func (e *ReplayError) Error() string {
	text := fmt.Sprintf("replaying %s", e.what())
	if e.EventID > 0 {
		text += fmt.Sprintf(": event %d", e.EventID)
	}
	text += fmt.Sprintf(": expected %s, got %s", e.Expected, e.Got)
	if e.Source != "" {
		text += " at " + e.Source
	}
	return text + ": " + e.Hint
}

// what names the execution and its code.
func (e *ReplayError) what() string {
	text := fmt.Sprintf("instance %q, execution %d of %s", e.InstanceID, e.Execution, check.Quote(e.Orchestration))
	if e.CodeVersion != "" {
		text += fmt.Sprintf(", version %q", e.CodeVersion)
	}
	return text
}

// Replay runs the registered code against a stored history and reports where they differ. It stores nothing and runs no
// activity. A test that replays histories of production shows before a deploy whether their instances go on: take them by
// client.ExportHistory, or from a file by client.ReadHistories. Several goroutines may replay with one registry.
//
// The code must be deterministic for that to mean something; what it does besides, it does here, too. Replay waits for code that
// does not return until ctx is done. The code then ends at its next call into the engine.
//
// Errors: a *ReplayError if the code differs, panics or is not registered; client.ErrHistoryFile for events that this release cannot
// read; ErrRegistration with all that the registry has refused; ErrInvalid; the error of ctx.
func Replay(ctx context.Context, reg *Registry, h client.HistoryFile) error {
	if err := check.Context(ctx); err != nil {
		return fmt.Errorf("replaying a history: %w: %w", ErrInvalid, err)
	}
	if reg == nil {
		return fmt.Errorf("replaying a history: %w: %w", ErrInvalid, errNoRegistry)
	}
	reg, err := reg.withTest(ctx)
	if err != nil {
		return fmt.Errorf("replaying a history: %w", err)
	}
	c, err := reg.checker()
	if err != nil {
		return fmt.Errorf("replaying a history: %w", err)
	}
	return c.replay(ctx, &h)
}

// checker replays histories with the code of a registry.
type checker struct {
	bodies    map[provider.Capability]replay.Body
	fallbacks *fallback.Set
	env       *replay.Env
}

func (r *Registry) checker() (*checker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	bodies, env := r.code(slog.New(slog.DiscardHandler))
	return &checker{bodies, r.fallbacks(func(string) bool { return true }), env}, nil
}

// names returns the names of the registered orchestrations, sorted.
func (c *checker) names() []string {
	all := make(map[string]bool, len(c.bodies))
	for of := range c.bodies {
		all[of.Name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func (c *checker) replay(ctx context.Context, h *client.HistoryFile) error {
	differs := &ReplayError{InstanceID: h.InstanceID, Execution: h.Execution, Orchestration: h.Orchestration, CodeVersion: h.CodeVersion}
	events, err := decoded(h)
	if err != nil {
		return fmt.Errorf("replaying %s: %w: %w", differs.what(), client.ErrHistoryFile, err)
	}
	of := provider.Capability{Name: h.Orchestration, CodeVersion: h.CodeVersion}
	body := c.bodies[of]
	if body == nil {
		body = c.fallbacks.Body(of)
	}
	if body == nil {
		c.unregistered(differs)
		return differs
	}
	r := &replaying{x: replay.New(c.env, replay.Info{
		ID: h.InstanceID, Key: h.Key, Execution: h.Execution, Name: h.Orchestration, CodeVersion: h.CodeVersion,
	}, body), done: make(chan struct{}), closed: make(chan struct{})}
	if test := bubble.Of(ctx); test != nil {
		r.replayed = test.Replayed
	}
	go r.run(events)
	select {
	case <-r.done:
	case <-ctx.Done():
		r.x.Probe().Abandon()
		return fmt.Errorf("replaying %s: the code neither waits nor returns: %w", differs.what(), context.Cause(ctx))
	}
	select {
	case <-r.closed:
	case <-ctx.Done(): // deferred functions of the code do not return; it has been judged
	}
	return r.judge(differs, events)
}

// decoded returns the events of a history.
func decoded(h *client.HistoryFile) ([]history.Event, error) {
	if h.EngineLevel > replay.EngineLevel {
		return nil, fmt.Errorf("it needs engine level %d, and this release has level %d: %w", h.EngineLevel, replay.EngineLevel, history.ErrNewer)
	}
	events := make([]history.Event, len(h.Events))
	for i, data := range h.Events {
		e, err := history.Decode(int64(i)+1, data)
		if err != nil {
			return nil, err
		}
		events[i] = e
	}
	return events, nil
}

// unregistered says that the code of a history is missing.
func (c *checker) unregistered(e *ReplayError) {
	e.Expected = "code of orchestration " + check.Quote(e.Orchestration)
	if e.CodeVersion != "" {
		e.Expected += fmt.Sprintf(" in version %q", e.CodeVersion)
	}
	var versions []string
	for of := range c.bodies {
		if of.Name == e.Orchestration {
			versions = append(versions, fmt.Sprintf("%q", of.CodeVersion))
		}
	}
	slices.Sort(versions)
	e.Got, e.Hint = "none of that name", "register it"
	if len(versions) > 0 {
		e.Got, e.Hint = "version "+strings.Join(versions, ", "), "keep that version registered until no instance runs it, or move the instance"
	}
}

// replaying is one replay, on a goroutine of its own, which the code may end.
type replaying struct {
	x      *replay.Execution
	done   chan struct{} // closed when err and stacks are set
	closed chan struct{} // closed when the code is unwound
	err    error
	stacks string

	replayed func(*replay.Execution) // gets the execution if it has no fault; nil: nobody does
}

func (r *replaying) run(events []history.Event) {
	returned := false
	defer func() {
		if panicked := recover(); panicked != nil {
			r.err = fmt.Errorf("the engine panicked: %v\n%s", panicked, debug.Stack())
		} else if !returned {
			r.err = cmp.Or(r.x.View().Fault(), errors.New("the code called runtime.Goexit"))
		}
		if r.err != nil {
			r.stacks = r.x.View().Stacks()
		}
		close(r.done)
		defer close(r.closed)
		r.x.Close()
	}()
	r.x.NoteCallers()
	r.err = r.x.Replay(events)
	returned = true
	if r.err == nil && r.replayed != nil {
		r.replayed(r.x)
	}
}

// judge returns the error that the replay stands for, in which differs has the execution.
func (r *replaying) judge(differs *ReplayError, events []history.Event) error {
	switch {
	case r.err == nil:
		return nil
	case errors.Is(r.err, history.ErrCorrupt), errors.Is(r.err, history.ErrNewer):
		return fmt.Errorf("replaying %s: %w: %w", differs.what(), client.ErrHistoryFile, r.err)
	}
	differs.EventID, differs.Expected, differs.Got = r.x.View().Length(), "a history that goes on", r.err.Error()
	differs.Hint = "mend the code: the turn would fail"
	if int(differs.EventID) >= len(events) {
		differs.Expected = "code that waits or ends at the last event"
	}
	if e, ok := errors.AsType[*replay.PanicError](r.err); ok {
		differs.Got, differs.Stack = "a panic: "+e.Value, e.Stack
	}
	if e, ok := errors.AsType[*replay.WrongGoroutineError](r.err); ok {
		differs.Got, differs.Source = "a call from a foreign goroutine "+e.When, e.Source
		differs.Hint = "use ctx.Go instead of the go statement"
	}
	if e, ok := errors.AsType[*replay.NonDeterminismError](r.err); ok {
		differs.EventID, differs.Expected, differs.Got, differs.Source = e.EventID, e.History, e.Code, e.Source
		differs.Hint = "keep the code of before for this instance: put the change behind ctx.Patched, or register it under another version"
		if e.Patch != "" {
			differs.Hint = fmt.Sprintf("the history has the patch %q, which this code does not know: deploy the code that has it", e.Patch)
		}
		if e.Source == "" {
			differs.Stack, differs.Source = r.stacks, firstPlace(r.stacks)
		}
	}
	return differs
}

// firstPlace returns file and line of the innermost call in stacks, "" if there is none.
func firstPlace(stacks string) string {
	for line := range strings.Lines(stacks) {
		if place, ok := strings.CutPrefix(line, "\t"); ok {
			return strings.TrimSpace(place)
		}
	}
	return ""
}
