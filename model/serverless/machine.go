package serverless

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// errorVariable holds the error in the expressions of a retry policy, whatever a catch names it.
const errorVariable = "$error"

// machine runs the document of one execution. Its coroutines never run at the same time.
type machine struct {
	tree    *workflow
	budget  *budget
	id      string
	input   any // of the workflow, raw
	started time.Time
	context any // $context
}

// scope is a variable of a loop or catch, and those around it.
type scope struct {
	outer *scope
	name  string
	value any
}

func (s *scope) with(name string, value any) *scope { return &scope{s, name, value} }

// step is one run of one task.
type step struct {
	*machine

	ctx     *orchestration.Context
	task    *task
	raw     any // the input before input.from
	input   any // $input
	output  any // the output before output.as
	result  any // $output
	vars    *scope
	started time.Time
}

// lookup returns the values of variables for expressions of the task. A step without a task is that of the workflow.
func (s *step) lookup(name string) any {
	for v := s.vars; v != nil; v = v.outer {
		if v.name == name {
			return v.value
		}
	}
	switch name {
	case nowVariable:
		return float64(s.ctx.Now().UnixMicro()) / 1e6
	case "$context":
		return s.context
	case "$input":
		return s.input
	case "$output":
		return s.result
	case "$runtime":
		return map[string]any{"name": "perdure", "version": Version, "metadata": map[string]any{}}
	case "$workflow":
		return map[string]any{"id": s.id, "definition": s.tree.definition, "input": s.machine.input, "startedAt": moment(s.machine.started)}
	case "$task":
		return map[string]any{
			"name": s.task.name, "reference": s.task.ref, "definition": s.task.definition, "input": s.raw, "output": s.output,
			"startedAt": moment(s.started),
		}
	}
	return nil
}

// moment is a time as expressions see it.
func moment(t time.Time) map[string]any {
	return map[string]any{
		"iso8601": t.UTC().Format(time.RFC3339Nano),
		"epoch":   map[string]any{"seconds": int(t.Unix()), "milliseconds": int(t.UnixMilli())},
	}
}

// evaluate returns the result of an expression. Its failure is a fault that the document can catch.
func (s *step) evaluate(e *expression, input any) (any, error) {
	v, err := e.evaluate(input, s.lookup)
	if err != nil {
		return nil, expressionFault(err, s.ref())
	}
	return v, nil
}

// render returns data with the results of its expressions; without a template it returns the input.
func (s *step) render(t *template, input any) (any, error) {
	if t == nil {
		return input, nil
	}
	v, err := t.evaluate(input, s.lookup)
	if err != nil {
		return nil, expressionFault(err, s.ref())
	}
	return v, nil
}

func (s *step) ref() string {
	if s.task == nil {
		return "/"
	}
	return s.task.ref
}

// holds evaluates a condition.
func (s *step) holds(e *expression, input any) (bool, error) {
	v, err := s.evaluate(e, input)
	return truth(v), err
}

// waited gives the document the work of another stretch.
func (s *step) waited() { s.budget.renew() }

// workflow runs the whole document.
func (m *machine) workflow(ctx *orchestration.Context) (any, error) {
	s := &step{machine: m, ctx: ctx}
	input, err := s.render(m.tree.from, m.input)
	if err != nil {
		return nil, err
	}
	output, err := s.limited(m.tree.timeout, "the workflow timed out", func(ctx *orchestration.Context) (any, error) {
		output, err := m.list(ctx, m.tree.tasks, input, nil)
		if ended, ok := errors.AsType[*end](err); ok {
			return ended.output, nil
		}
		return output, err
	})
	if err != nil {
		return nil, err
	}
	return s.render(m.tree.as, output)
}

// end is what a task returns to the lists around it when then says end.
type end struct{ output any }

func (e *end) Error() string { return "the workflow has come to its end" }

// list runs the tasks of a list, and returns the output of the last one.
func (m *machine) list(ctx *orchestration.Context, tasks []*task, input any, vars *scope) (any, error) {
	for i := 0; i < len(tasks); {
		output, next, err := m.run(ctx, tasks[i], input, vars)
		if err != nil {
			return nil, err
		}
		input = output
		switch next.flow {
		case flowContinue:
			i++
		case flowTo:
			i = next.to
		case flowExit:
			return output, nil
		case flowEnd:
			return nil, &end{output}
		}
	}
	return input, nil
}

// run runs one task: condition, input, work, output and export, in the order of the standard.
func (m *machine) run(ctx *orchestration.Context, t *task, raw any, vars *scope) (output any, next directive, err error) {
	m.count(t)
	s := &step{machine: m, ctx: ctx, task: t, raw: raw, input: raw, vars: vars, started: ctx.Now()}
	if t.cond != nil {
		if yes, err := s.holds(t.cond, raw); err != nil || !yes {
			return raw, directive{}, err // a task that is skipped does not say what comes next
		}
	}
	if s.input, err = s.render(t.from, raw); err != nil {
		return nil, next, err
	}
	next = t.then
	s.output, err = s.limited(t.timeout, "the task timed out", func(ctx *orchestration.Context) (any, error) {
		inner := *s
		inner.ctx = ctx
		output, chosen, err := t.work.run(&inner)
		if chosen != nil {
			next = *chosen
		}
		return output, err
	})
	if err != nil {
		return nil, next, err
	}
	if s.result, err = s.render(t.as, s.output); err != nil {
		return nil, next, err
	}
	if t.export != nil {
		if m.context, err = s.render(t.export, s.result); err != nil {
			return nil, next, err
		}
	}
	return s.result, next, nil
}

// count charges a task, so that a document that goes in circles without a wait fails its turn.
func (m *machine) count(t *task) { m.charge(t.ref, taskUnits) }

// charge counts work at a place of the document.
func (m *machine) charge(ref string, units int) {
	defer func() {
		if p := recover(); p != nil {
			if limit, ok := p.(*LimitError); ok && limit.Path == "" {
				limit.Path = ref
			}
			panic(p)
		}
	}()
	m.budget.charge(units)
}

// encoded returns the input of a call. A text may be six times as long there.
func (s *step) encoded(v any) json.RawMessage {
	data := encode(v)
	s.charge(s.ref(), len(data)>>3)
	return data
}

// limited does something within a timeout, if there is one. Only the scope whose own time has passed turns that into a fault: to all
// inside of it, it is an end that they cannot catch.
func (s *step) limited(d *duration, title string, do func(ctx *orchestration.Context) (any, error)) (any, error) {
	if d == nil {
		return do(s.ctx)
	}
	ctx, cancel := s.ctx.WithTimeout(d.fixed)
	defer cancel()
	output, err := do(ctx)
	if err != nil && s.ctx.Err() == nil && errors.Is(ctx.Err(), orchestration.ErrTimeout) {
		return nil, &Fault{Type: TypeTimeout, Status: 408, Instance: s.ref(), Title: title}
	}
	return output, err
}

// catchable returns the fault in an error, unless the scope has ended or the error is one that a document cannot mend.
func (s *step) catchable(err error) *Fault {
	fault, ok := errors.AsType[*Fault](err)
	if !ok || s.ctx.Err() != nil {
		return nil //nolint:nilerr // the caller goes on with err: there is no fault to catch
	}
	return fault
}
