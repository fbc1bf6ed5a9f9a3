// Package bulk is the orchestration of bulk jobs: it acts on one instance after the other, in steps, and shows how far it has come.
package bulk

import (
	"fmt"
	"time"

	form "github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/orchestration"
)

// The commands of both versions must not change: later code is a version of its own.
const (
	// maxSteps bounds an execution, so that a job moves on to newer code.
	maxSteps = 50
	// forgotten is how long a job stays stopped before it ends.
	forgotten = 30 * 24 * time.Hour
	// stepLimit is how long one attempt of a step may take. Storage calls of one instance may wait for a while.
	stepLimit = 10 * time.Minute
)

// V1 returns version 1 of the orchestration, for jobs of the first form.
func V1() func(*orchestration.Context, form.State) (form.View, error) {
	return versionOf(form.First, form.Step)
}

// V2 returns version 2, for jobs of the second form. It differs from version 1 in the name of its step.
func V2() func(*orchestration.Context, form.State) (form.View, error) {
	return versionOf(form.Second, form.SecondStep)
}

func versionOf(version, step string) func(*orchestration.Context, form.State) (form.View, error) {
	run := func(ctx *orchestration.Context, st form.State) (form.View, error) { return run(ctx, st, step) }
	return orchestration.Define(reserved.Bulk, run, orchestration.Version(version))
}

// A job is one execution.
type job struct {
	st      *form.State
	name    string // of the step, without the reserved prefix
	control orchestration.Mailbox[string]
}

func run(ctx *orchestration.Context, st form.State, step string) (form.View, error) {
	if st.Started.IsZero() {
		st.Started = ctx.Now()
	}
	j := &job{st: &st, name: step, control: orchestration.Events[string](ctx, form.Control)}
	for range maxSteps {
		if over, view, err := j.obeyControl(ctx); over || err != nil {
			return view, err
		}
		began := ctx.Now()
		stepped, err := j.step(ctx)
		if err != nil {
			return form.View{}, err
		}
		st.At = stepped.To
		st.Counts = st.Counts.Plus(stepped.Counts)
		j.fail(ctx, stepped.Failures)
		switch {
		case stepped.Refused != "":
			return j.show(ctx, form.PhaseRefused, stepped.Refused), nil
		case !stepped.More || st.Counts.Total() >= st.Job.Max:
			return j.show(ctx, form.PhaseDone, ""), nil
		}
		j.show(ctx, form.PhaseRunning, "")
		if err := j.pace(ctx, began, max(stepped.Total(), stepped.Tasks)); err != nil {
			return form.View{}, err
		}
	}
	return form.View{}, orchestration.ContinueAsNew(ctx, st, orchestration.KeepVersion())
}

// step acts on the next instances. It is repeated until the storage lets it.
func (j *job) step(ctx *orchestration.Context) (form.Stepped, error) {
	req := form.StepRequest{Job: j.st.Job, From: j.st.At, Max: form.MaxStep}
	if rate := j.st.Job.Rate; rate > 0 {
		req.Max = min(req.Max, max(1, int(rate)))
	}
	req.Max = int(min(int64(req.Max), j.st.Job.Max-j.st.Counts.Total()))
	if err := req.Key.UnmarshalText([]byte(ctx.Info().Key)); err != nil {
		return form.Stepped{}, fmt.Errorf("key of the job: %w", err)
	}
	return orchestration.CallActivityNamed[form.Stepped](ctx, reserved.NamePrefix+j.name, req, orchestration.WithQueue(reserved.Queue),
		orchestration.WithStartToCloseTimeout(stepLimit), orchestration.WithRetry(orchestration.RetryPolicy{MaxInterval: time.Minute}))
}

// pace waits as long as the rate demands.
func (j *job) pace(ctx *orchestration.Context, began time.Time, n int64) error {
	if j.st.Job.Rate <= 0 {
		return nil
	}
	due := time.Duration(float64(n) / j.st.Job.Rate * float64(time.Second))
	timer := orchestration.StartTimer(ctx, due-ctx.Now().Sub(began))
	_, err := orchestration.Select(ctx, timer, j.control)
	timer.Cancel()
	return err
}

// obeyControl obeys requests to stop and to resume. over reports that the job ends because nobody has resumed it.
func (j *job) obeyControl(ctx *orchestration.Context) (over bool, view form.View, err error) {
	for {
		request, ok, err := j.control.TryReceive()
		if err == nil && ok {
			j.st.Stopped = request == form.ControlStop
		}
		if ok {
			continue
		}
		if !j.st.Stopped {
			return false, form.View{}, nil
		}
		j.show(ctx, form.PhaseStopped, "")
		timer := orchestration.StartTimer(ctx, forgotten)
		first, err := orchestration.Select(ctx, j.control, timer)
		timer.Cancel()
		if err != nil {
			return false, form.View{}, err
		}
		if first == 1 {
			return true, j.show(ctx, form.PhaseGivenUp, "it was stopped for 30 days"), nil
		}
	}
}

// fail keeps failures in values, the oldest of which are overwritten.
func (j *job) fail(ctx *orchestration.Context, failures []form.Failure) {
	before := j.st.Counts.Failed - int64(len(failures))
	for n, f := range failures {
		j.st.Failures = append(j.st.Failures, f.Cut())
		chunk := (before + int64(n)) / form.Chunk % form.Chunks
		if full := len(j.st.Failures) == form.Chunk; full || n == len(failures)-1 {
			orchestration.SetValue(ctx, form.FailuresKey(chunk), j.st.Failures)
			if full {
				j.st.Failures = nil
			}
		}
	}
}

// show shows how far the job has come.
func (j *job) show(ctx *orchestration.Context, phase, problem string) form.View {
	v := form.View{Job: j.st.Job, Phase: phase, Counts: j.st.Counts, Started: j.st.Started, Looked: ctx.Now(), Problem: problem}
	orchestration.SetValue(ctx, form.ValueKey, v)
	return v
}
