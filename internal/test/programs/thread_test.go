package programs

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/perdure/perdure/orchestration"
)

type (
	octx = orchestration.Context
	none = orchestration.None
)

var (
	errRefused = errors.New("refused")
	errFinal   = errors.New("final")
)

// world is the state that the threads of an execution share.
type world struct {
	unit   time.Duration // a moment
	order  uint64        // hash of everything seen, in that order
	runs   map[int]int   // how often a statement was run
	early  int           // events of the driver received
	served int           // updates and events of the driver whose handlers have begun, or have ended if late
	late   bool          // see Program.Late
	noise  func() int    // returns another value with each call
	jitter float64       // of retry policies

	patched bool // the code is that of the newer release
}

// thread walks a part of a program and records what it sees.
type thread struct {
	w     *world
	lines []string
}

// seef records the result of a statement.
func (t *thread) seef(ctx *octx, s *Statement, format string, args ...any) {
	line := fmt.Sprintf("%d %s: ", s.ID, s.Do) + fmt.Sprintf(format, args...)
	t.lines = append(t.lines, line)
	t.w.note(ctx, line)
}

// note adds something to the order only.
func (w *world) note(ctx *octx, what string) {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %d %s", w.order, ctx.Now().UnixMicro(), what) // a hash takes all
	w.order = h.Sum64()
}

// class returns the name that the model has for an error.
func class(err error) string {
	thrown, isThrown := errors.AsType[*ThrownError](err)
	denied, isDenied := errors.AsType[*DeniedError](err)
	switch {
	case err == nil:
		return "ok"
	case isThrown:
		return thrown.Error()
	case isDenied:
		return fmt.Sprint("denied ", denied.Code)
	case errors.Is(err, errRefused):
		return "refused"
	case errors.Is(err, errFinal):
		return "final"
	}
	for kind, name := range map[error]string{
		orchestration.ErrPanic: "panic", orchestration.ErrTimeout: "timeout", orchestration.ErrExists: "exists",
		orchestration.ErrCancelled: "cancelled",
	} {
		if errors.Is(err, kind) {
			return name
		}
	}
	return "other: " + err.Error()
}

// Input is the input of an execution.
type Input struct {
	Code   int // the number of the program; see house
	Round  int
	Early  int
	Served int
	Lines  []string
}

// execute is the orchestration that walks programs, as it was before its patches or after.
func (h *house) execute(ctx *octx, in Input, patched bool) ([]string, error) {
	t := &thread{lines: in.Lines, w: &world{unit: h.unit, runs: map[int]int{}, early: in.Early, served: in.Served, noise: h.noise, jitter: h.jitter(), patched: patched}}
	program := h.code[in.Code]
	t.w.late = program.Late
	t.answer(ctx)
	t.serve(ctx)
	round := program.Rounds[in.Round]
	ctx.SetStatus(in.Round)
	err := t.block(ctx, round.Body)
	if thrown, ok := errors.AsType[*ThrownError](err); ok {
		return nil, &ThrownError{What: thrown.What, Lines: t.lines}
	}
	if round.Cancel {
		t.haveCancelled(ctx)
	}
	for _, kind := range round.Leave {
		t.begin(ctx, kind)
	}
	if in.Round+1 < len(program.Rounds) {
		next := func() Input {
			return Input{Code: in.Code, Round: in.Round + 1, Early: t.w.early, Served: t.w.served, Lines: t.lines}
		}
		if program.Late {
			return nil, orchestration.ContinueAsNewAfterHandlers(ctx, next)
		}
		return nil, orchestration.ContinueAsNew(ctx, next())
	}
	if err := ctx.Err(); err != nil && program.Fails {
		return nil, errors.Join(err, &ThrownError{What: "cancelled", Lines: t.lines})
	}
	return t.lines, nil
}

// answer registers queries: one that only reads, and two that must not hurt the program.
func (t *thread) answer(ctx *octx) {
	orchestration.HandleQuery(ctx, "lines", func(none) (int, error) { return len(t.lines), nil })
	orchestration.HandleQuery(ctx, "refused", func(none) (none, error) {
		t.lines = append(t.lines, "half")
		return none{}, ctx.Sleep(time.Hour)
	})
	orchestration.HandleQuery(ctx, "panic", func(none) (none, error) {
		t.lines = append(t.lines, "half")
		panic("in a query")
	})
}

// haveCancelled has the instance cancelled from outside.
func (t *thread) haveCancelled(ctx *octx) {
	s := &Statement{Do: "cancel"}
	_, err := orchestration.CallActivityNamed[none](ctx.Detached(), actStop, ctx.Info().Key)
	t.seef(ctx, s, "%s", class(err))
	t.seef(ctx, s, "%s", class(ctx.Sleep(forever)))
}

// block runs statements one after the other, until one throws.
func (t *thread) block(ctx *octx, body []Statement) error {
	for i := range body {
		if err := t.step(ctx, &body[i]); err != nil {
			return err
		}
	}
	return nil
}

// step returns an error only if the statement throws.
func (t *thread) step(ctx *octx, s *Statement) error {
	t.w.runs[s.ID]++
	if t.call(ctx, s) || t.wait(ctx, s) || t.waitForCode(ctx, s) || t.compete(ctx, s) || t.together(ctx, s) {
		return nil
	}
	return t.nest(ctx, s)
}
