package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// judge compares the end of an instance with what clients have seen of it.
func (s *sim) judge(ctx context.Context, c *client.Client, in *Instance) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var known seen
	s.of(in.ID, func(s *seen) { known = *s })
	list, err := s.store.List(ctx, provider.ListRequest{Filter: provider.Filter{IDPrefix: in.ID, Replaced: true}})
	if err != nil {
		return []string{err.Error()}
	}
	var rows []provider.Instance
	for _, row := range list.Instances {
		if row.ID == in.ID {
			rows = append(rows, row)
		}
	}
	if len(rows) != 1 {
		add("%d instances have the ID", len(rows))
		return wrong
	}
	for _, key := range known.keys {
		if key != rows[0].Key {
			add("a start has returned another instance than the one that is stored")
		}
	}
	out, err := client.HandleOf[State](c, in.ID, rows[0].Key).Result(ctx)
	status := client.Status(rows[0].Status.String())
	never := slices.ContainsFunc(in.Plan.Steps, func(s Step) bool { return s.Do == doNever })
	switch {
	case status == client.StatusTerminated && in.Act == actTerminate && known.tried:
		return wrong
	case status == client.StatusCancelled && in.Act == actCancel && known.tried:
		return wrong
	case known.acted && in.Act == actTerminate:
		add("it was terminated, and is %v", rows[0].Status)
	case status != client.StatusCompleted || err != nil:
		add("it is %v: %v", rows[0].Status, err)
	case never:
		add("it has completed, and its code waits forever")
	default:
		for _, w := range s.judgeState(in, &known, &out) {
			add("%s", w)
		}
	}
	return wrong
}

// judgeState compares what code has seen with what was sent to it.
func (s *sim) judgeState(in *Instance, known *seen, out *State) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for _, err := range s.judgeLines(in.Plan.Steps, out, in.Act == actReset || in.Act == actRetry) {
		add("%v", err)
	}
	for _, events := range []struct {
		do  string
		got []int
		n   int
	}{{sendEvent, out.Got, in.Plan.Events}, {sendNote, out.Noted, in.Plan.Notes}} {
		sorted := slices.Sorted(slices.Values(events.got))
		if len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
			add("an %s was taken twice: %v", events.do, events.got)
		}
		if len(sorted) != events.n {
			add("%d of %d %ss were taken: %v", len(sorted), events.n, events.do, events.got)
		}
		for _, sent := range known.sent {
			if sent.Do == events.do && !slices.Contains(events.got, sent.N) {
				add("%s %d was acknowledged, and is lost: %v", sent.Do, sent.N, events.got)
			}
		}
		for _, sends := range in.Clients {
			if err := inOrder(sends, events.do, events.got); err != nil {
				add("%v", err)
			}
		}
	}
	if len(out.Added) != in.Plan.Updates {
		add("%d of %d updates were taken: %v", len(out.Added), in.Plan.Updates, out.Added)
	}
	for id, a := range known.answers {
		if a.Place < 1 || a.Place > len(out.Added) || out.Added[a.Place-1] != id {
			add("%s was told place %d, and the code has %v", id, a.Place, out.Added)
		}
		if effect := out.effect("update "+id, 0); !slices.Contains(s.effects[effect], a.Value) {
			add("%s was told the value %d, and its activity has made %v", id, a.Value, s.effects[effect])
		}
	}
	return wrong
}

// inOrder demands that the events of one client come in its order.
func inOrder(sends []Send, do string, got []int) error {
	last := -1
	for _, s := range sends {
		if s.Do != do {
			continue
		}
		at := slices.Index(got, s.N)
		if at < last {
			return fmt.Errorf("%ss of one client were taken in another order: %v", do, got)
		}
		last = at
	}
	return nil
}

// judgeLines compares what code has seen of its steps with the plan. The results of activities must be those of an attempt.
func (s *sim) judgeLines(steps []Step, out *State, again bool) (wrong []error) {
	lines := out.Lines
	for i, step := range steps {
		if step.Do == doNext {
			continue
		}
		if len(lines) == 0 {
			return append(wrong, fmt.Errorf("step %d of %s is missing", i+1, out.Name))
		}
		line := lines[0]
		lines = lines[1:]
		if line.Step != i+1 || line.Do != step.Do {
			return append(wrong, fmt.Errorf("step %d of %s is %d %s, want %s", i+1, out.Name, line.Step, line.Do, step.Do))
		}
		if err := s.judgeLine(&step, &line, out, again); err != nil {
			wrong = append(wrong, fmt.Errorf("step %d of %s (%s): %w", i+1, out.Name, step.Do, err))
		}
		if step.Child != nil && line.Child != nil {
			wrong = append(wrong, s.judgeLines(step.Child.Steps, line.Child, again)...)
		}
	}
	if len(lines) > 0 {
		wrong = append(wrong, fmt.Errorf("%s has %d steps too many", out.Name, len(lines)))
	}
	return wrong
}

// judgeLine judges one step. A reset may have repeated it.
func (s *sim) judgeLine(step *Step, line *Line, out *State, again bool) error {
	want := map[string]int{doCall: 1, doLocal: 1, doFlaky: 1, doOnce: 1, doPark: 1, doFan: 3}[step.Do]
	if step.Do == doOnce {
		if began := s.begins[out.effect(fmt.Sprint("step ", line.Step), 0)]; began > 1 && !again {
			return fmt.Errorf("it ran %d times", began)
		}
	}
	switch {
	case step.Do == doOnce && line.Note == noteLost, step.Do == doLocal && line.Note == noteLate:
		return nil
	case line.Note != "":
		return errors.New(line.Note)
	}
	if len(line.Values) != want {
		return fmt.Errorf("it has %d values, want %d", len(line.Values), want)
	}
	if told := s.told[out.effect(fmt.Sprint("step ", line.Step), 0)]; step.Do == doPark && !again && len(told) > 0 && !slices.Equal(told, line.Values) {
		return fmt.Errorf("it was ended with %v, and its value is %v", told, line.Values)
	}
	for n, value := range line.Values {
		effect := out.effect(fmt.Sprint("step ", line.Step), n)
		if made := s.effects[effect]; !slices.Contains(made, value) {
			return fmt.Errorf("its value is %d, and its attempts have made %v", value, made)
		}
	}
	if step.Do == doChild && line.Child == nil {
		return errors.New("it has no child")
	}
	return nil
}
