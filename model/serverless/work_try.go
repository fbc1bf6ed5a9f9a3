package serverless

import (
	"errors"
	"math"
	"time"

	"github.com/perdure/perdure/orchestration"
)

func (w *tryWork) run(s *step) (any, *directive, error) {
	begin := s.ctx.Now()
	for tries := 0; ; tries++ {
		output, err := w.attempt(s)
		if err == nil {
			return output, nil, nil
		}
		fault := s.catchable(err)
		if fault == nil {
			return nil, nil, err
		}
		inner := *s
		inner.vars = s.vars.with(w.catch.as, fault.data())
		if mine, err := w.catches(&inner, fault); err != nil {
			return nil, nil, err
		} else if !mine {
			return nil, nil, fault
		}
		if p := w.catch.retry; p != nil {
			policy := inner
			if p.shared {
				policy.vars = inner.vars.with(errorVariable, fault.data())
			}
			again, err := p.next(&policy, tries, begin)
			if err != nil {
				return nil, nil, err
			}
			if again {
				continue
			}
			if w.catch.tasks == nil {
				return nil, nil, fault // the retries are over, and nothing handles it
			}
		}
		if w.catch.tasks == nil {
			return s.input, nil, nil
		}
		output, err = s.list(s.ctx, w.catch.tasks, s.input, inner.vars)
		return output, nil, err
	}
}

// attempt runs the tasks once, within the limit of an attempt.
func (w *tryWork) attempt(s *step) (any, error) {
	var limit *duration
	if w.catch.retry != nil {
		limit = w.catch.retry.attempt
	}
	return s.limited(limit, "the attempt timed out", func(ctx *orchestration.Context) (any, error) {
		return s.list(ctx, w.tasks, s.input, s.vars)
	})
}

// catches reports whether the catch handles the fault.
func (w *tryWork) catches(s *step, fault *Fault) (bool, error) {
	data := fault.data()
	for key, want := range w.catch.with {
		if data[key] != want {
			return false, nil
		}
	}
	return s.passes(w.catch.when, w.catch.exceptWhen)
}

// passes reports whether one condition, if there is one, holds, and the other does not.
func (s *step) passes(when, exceptWhen *expression) (bool, error) {
	if when != nil {
		if yes, err := s.holds(when, s.input); err != nil || !yes {
			return false, err
		}
	}
	if exceptWhen != nil {
		if no, err := s.holds(exceptWhen, s.input); err != nil || no {
			return false, err
		}
	}
	return true, nil
}

// next waits until a try may run again, and reports whether it may. tries is how often it has run again before.
func (p *retry) next(s *step, tries int, begin time.Time) (bool, error) {
	if p.count >= 0 && tries >= p.count {
		return false, nil
	}
	if yes, err := s.passes(p.when, p.exceptWhen); err != nil || !yes {
		return false, err
	}
	delay := p.wait(tries)
	if p.jitterTo > 0 {
		delay += p.jitterFrom
		if span := p.jitterTo - p.jitterFrom; span > 0 {
			delay += time.Duration(s.ctx.Rand().Int64N(int64(span) + 1))
		}
	}
	if p.total != nil && s.ctx.Now().Add(delay).Sub(begin) > p.total.fixed {
		return false, nil
	}
	if err := s.ctx.Sleep(delay); err != nil {
		return false, err
	}
	if delay > 0 {
		s.waited()
	}
	return true, nil
}

// wait returns the delay before the next try, without the jitter.
func (p *retry) wait(tries int) time.Duration {
	if p.delay == nil {
		return 0
	}
	delay := float64(p.delay.fixed)
	switch p.backoff {
	case backoffConstant:
	case backoffLinear:
		delay *= float64(tries + 1)
	case backoffExponential:
		delay *= math.Pow(2, float64(min(tries, 62)))
	}
	return time.Duration(min(delay, float64(maxDuration)))
}

func (w *forkWork) run(s *step) (any, *directive, error) {
	ctx, cancel := s.ctx.WithCancel()
	defer cancel()
	outputs := make([]any, len(w.branches))
	var failed error
	winner, left := -1, len(w.branches)
	branches := make([]orchestration.Future[orchestration.None], len(w.branches))
	for i, b := range w.branches {
		branches[i] = ctx.Go(func(ctx *orchestration.Context) error {
			if ctx.Err() != nil {
				return ctx.Err() // the race was over before this branch began
			}
			output, _, err := s.machine.run(ctx, b, s.input, s.vars)
			left--
			switch {
			case err != nil && ctx.Err() == nil:
				if failed == nil {
					failed = err
				}
				if !w.compete || left == 0 {
					cancel()
				}
			case err == nil && winner < 0:
				if winner = i; w.compete {
					cancel()
				}
			}
			outputs[i] = output
			return err
		})
	}
	for _, b := range branches {
		if _, err := b.Get(s.ctx); err != nil && s.ctx.Err() != nil {
			return nil, nil, s.ctx.Err()
		}
	}
	switch {
	case w.compete && winner >= 0:
		return outputs[winner], nil, nil
	case failed != nil:
		return nil, nil, failed
	case w.compete:
		return nil, nil, errors.New("no branch has ended")
	default:
		return outputs, nil, nil
	}
}
