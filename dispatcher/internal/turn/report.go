package turn

import (
	"cmp"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// seen is what the Observer gets to know of a run.
type seen struct {
	began   time.Time // zero: nobody observes
	source  string
	waited  time.Duration
	anchors []observe.Span // that end with the commit
	dropped [engine.DroppedReasons]int64
}

// reporter tells the Observer what became of turns. It counts a turn when its commit is confirmed.
type reporter struct{ *core.Node }

// began notes that a turn begins.
func (re reporter) began(r *run, source string) {
	if re.Watch.On() {
		r.began, r.source = time.Now(), source
	}
}

// fetched notes that a fetched turn begins.
func (re reporter) fetched(r *run, fetch *provider.Turn, now provider.Time) {
	re.began(r, observe.FromCache)
	if r.waited = observe.NoTime; len(fetch.Messages) > 0 {
		r.waited = max(0, now.Sub(fetch.Messages[0].VisibleAt))
	}
}

// event returns an event of an execution.
func (re reporter) event(kind observe.Kind, info *replay.Info, trace string, at time.Time) observe.Event {
	return observe.Event{
		Kind: kind, At: at, Instance: info.ID, Key: info.Key, Execution: info.Execution, Orchestration: info.Name, Trace: trace,
		Version: cmp.Or(info.Runs, info.CodeVersion), Took: observe.NoTime, Wait: observe.NoTime,
	}
}

// turn tells that a turn ended.
func (re reporter) turn(r *run, info *replay.Info, trace string, now time.Time, outcome observe.Outcome) {
	e := re.event(observe.Turn, info, trace, now)
	e.Outcome, e.Source = outcome, r.source
	if !r.began.IsZero() {
		e.Took, e.Wait = now.Sub(r.began), r.waited
	}
	re.Watch.Report(e)
}

// failed tells that a turn ended without a commit.
func (re reporter) failed(r *run, outcome observe.Outcome) {
	if !re.Watch.On() {
		return
	}
	re.turn(r, &r.info, "", time.Now(), outcome)
}

// replayed tells that an execution was rebuilt.
func (re reporter) replayed(x replay.View, began time.Time) {
	if !re.Watch.On() {
		return
	}
	now, info := time.Now(), x.Info()
	e := re.event(observe.Replay, &info, "", now)
	e.Took = now.Sub(began)
	re.Watch.Report(e)
}

// stored tells what a confirmed commit has stored.
func (re reporter) stored(r *run, x replay.View, turn replay.Turn) {
	re.count(r, x, &turn)
	if !re.Watch.On() {
		return
	}
	info := x.Info()
	trace, _ := x.Trace()
	now := time.Now()
	re.turn(r, &info, trace, now, observe.Stored)
	for i := range r.anchors {
		if end := r.anchors[i].End; end != nil {
			re.Watch.End(observe.Event{At: now}, end)
		}
	}
	if starts(&info, &turn) {
		re.Watch.Report(re.event(observe.Started, &info, trace, now))
		re.scheduled(&info, trace, now, turn.Events[0].Body)
	}
	re.handled(&info, trace, now, turn)
	for _, n := range turn.Notes { // of schedules only, so far
		e := re.event(observe.Scheduled, &info, trace, now)
		e.Orchestration, e.Version, e.Outcome, e.Count = n.Name, "", observe.Outcome(n.Outcome), n.Count
		re.Watch.Report(e)
	}
	re.figures(&info, trace, now, turn.Figures)
	for reason, n := range r.dropped {
		if n > 0 {
			e := re.event(observe.Dropped, &info, trace, now)
			e.Reason, e.Count = [engine.DroppedReasons]string{"stale", "repeat", "unwanted", "ended"}[reason], n
			re.Watch.Report(e)
		}
	}
	for _, attempt := range r.locals.Ended() {
		attempt.Report(re.Watch)
	}
	if turn.End != nil {
		re.ended(x, &info, trace, now, turn.End)
	}
}

// figures tells what the code has counted and observed.
func (re reporter) figures(info *replay.Info, trace string, now time.Time, all []replay.Figure) {
	for i := range all {
		f := &all[i]
		e := re.event(observe.Counted, info, trace, now)
		if f.Observed {
			e.Kind = observe.Observed
		}
		e.Name, e.Attrs, e.Count, e.Value = f.Name, f.Attrs, f.Count, f.Value
		re.Watch.Report(e)
	}
}

// scheduled tells of an instance that a schedule has started. One that was backfilled or triggered has no lag.
func (re reporter) scheduled(info *replay.Info, trace string, now time.Time, body history.Body) {
	b, ok := body.(*history.ExecutionStarted)
	if !ok {
		return
	}
	of, due, ok := reserved.Run(info.ID, b.RequestID)
	if !ok {
		return
	}
	e := re.event(observe.Scheduled, info, trace, now)
	if e.Outcome, e.Count = observe.Begun, 1; info.ID == reserved.RunID(of, due, "") {
		e.Took = max(0, re.Clock.Now().Std().Sub(due))
	}
	re.Watch.Report(e)
}

// handled tells of the messages from outside that a commit has stored, and of updates that have their outcome.
func (re reporter) handled(info *replay.Info, trace string, now time.Time, turn replay.Turn) {
	for i := range turn.Events {
		var name, source string
		var stored []byte
		switch b := turn.Events[i].Body.(type) {
		case *history.EventReceived:
			name, source, stored = b.Name, observe.FromEvent, b.Header
		case *history.UpdateReceived:
			name, source, stored = b.Name, observe.FromUpdate, b.Header
		case *history.CancelRequested:
			source, stored = observe.FromCancel, b.Header
		default:
			continue
		}
		e := re.event(observe.Handled, info, trace, now)
		e.Name, e.Source, e.EventID = name, source, turn.Events[i].ID
		if re.Watch.Traces() {
			e.From = history.DecodeHeader(stored)
		}
		re.Watch.Report(e)
	}
	for i := range turn.Updates {
		u := &turn.Updates[i]
		if !u.Over() {
			continue
		}
		e := re.event(observe.Update, info, trace, now)
		e.Name, e.Outcome, e.Took = u.Name, updateOutcome(u.Outcome), max(0, time.Duration(u.Ended-u.At)*time.Microsecond)
		re.Watch.Report(e)
	}
}

func updateOutcome(outcome int64) observe.Outcome {
	switch outcome {
	case history.UpdateDone:
		return observe.Completed
	case history.UpdateFailed, history.UpdatePanicked:
		return observe.Failed
	default:
		return observe.Rejected
	}
}

// starts reports whether a turn is the first of its instance.
func starts(info *replay.Info, turn *replay.Turn) bool {
	return info.Execution == 1 && len(turn.Events) > 0 && turn.Events[0].Body.Kind() == history.KindExecutionStarted
}

// count adds what a confirmed commit has stored to the figures of the node.
func (re reporter) count(r *run, x replay.View, turn *replay.Turn) {
	to := re.Config.Figures
	if to == nil {
		return
	}
	for _, t := range r.locals.Tallies() {
		t.Count(to)
	}
	if turn.End == nil && (len(turn.Events) == 0 || turn.Events[0].Body.Kind() != history.KindExecutionStarted) {
		return // most turns: what identifies the execution is not copied
	}
	info := x.Info()
	if starts(&info, turn) {
		to.Started(&info.Key, info.Name)
	}
	if turn.End != nil {
		to.Ended(&info.Key, info.Name, outcomeOf(turn.End))
	}
}

// outcomeOf returns how an execution ended.
func outcomeOf(end *replay.End) observe.Outcome {
	switch {
	case end.Next != nil:
		return observe.Continued
	case end.Failure != nil && end.Cancelled:
		return observe.Cancelled
	case end.Failure != nil:
		return observe.Failed
	default:
		return observe.Completed
	}
}

// ended tells that an execution ended.
func (re reporter) ended(x replay.View, info *replay.Info, trace string, now time.Time, end *replay.End) {
	e := re.event(observe.Ended, info, trace, now)
	e.Count, e.Outcome = x.Length(), outcomeOf(end)
	from := x.Began()
	if end.Next != nil {
		from = x.StartedAt()
	}
	if from != 0 {
		e.Took = max(0, re.Clock.Now().Sub(provider.Time(from)))
	}
	re.Watch.Report(e)
}

// blocked tells that an instance is blocked, once per cause.
func (re reporter) blocked(inst *provider.Instance, f *provider.TurnFailure) {
	if !re.Watch.On() || inst.Blocked != nil && inst.Blocked.Reason == f.Reason {
		return
	}
	info := infoOf(inst)
	e := re.event(observe.Blocked, &info, "", time.Now())
	switch e.Reason = "other"; f.Reason {
	case "panic", "nondeterminism":
		e.Reason = f.Reason
	case reasonDeadlock, reasonLoop:
		e.Reason = "stuck"
	case "corrupt":
		e.Reason = "storage"
	}
	re.Watch.Report(e)
}

// infoOf returns what identifies the current execution of an instance.
func infoOf(inst *provider.Instance) replay.Info {
	return replay.Info{
		ID: inst.ID, Key: inst.Key, Execution: inst.Execution, Name: inst.Name, CodeVersion: inst.CodeVersion,
		ParentExecution: inst.Parent.Execution,
	}
}
