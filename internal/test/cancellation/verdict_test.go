package cancellation

import (
	"context"
	"errors"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

func panics() { panic("on purpose") }

func exits() { goruntime.Goexit() }

// The engine judges the end of an attempt by its own cancellations, never by the text or type of the error.
func TestActivity_EndsAreJudgedRightly(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		work   func(ctx context.Context) (string, error)
		cancel bool
		want   string   // a result
		is     error    // of the engine
		isNot  error    // of the engine
		says   []string // the error's text
	}{
		"a panic":  {work: func(context.Context) (string, error) { panics(); return "", nil }, is: orchestration.ErrPanic, says: []string{"on purpose", "verdict_test.go", "cancellation.panics"}},
		"a Goexit": {work: func(context.Context) (string, error) { exits(); return "", nil }, is: orchestration.ErrPanic, says: []string{"Goexit", "verdict_test.go", "cancellation.exits"}},
		"a panic when cancelled": {work: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			panics()
			return "", nil
		}, cancel: true, is: orchestration.ErrCancelled, says: []string{"on purpose"}},
		"a Goexit when cancelled": {work: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			exits()
			return "", nil
		}, cancel: true, is: orchestration.ErrCancelled, says: []string{"Goexit"}},
		"an error when cancelled": {work: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", errors.New("gave up")
		}, cancel: true, is: orchestration.ErrCancelled, says: []string{"gave up"}},
		"a result when cancelled": {work: func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "half of it", nil
		}, cancel: true, want: "half of it"},
		"the timeout of a context of its own": {work: func(ctx context.Context) (string, error) {
			inner, stop := context.WithTimeout(ctx, time.Millisecond)
			defer stop()
			<-inner.Done()
			return "", inner.Err()
		}, isNot: orchestration.ErrTimeout, says: []string{context.DeadlineExceeded.Error()}},
		"the cancellation of a context of its own": {work: func(ctx context.Context) (string, error) {
			inner, stop := context.WithCancel(ctx)
			stop()
			return "", inner.Err()
		}, isNot: orchestration.ErrCancelled, says: []string{context.Canceled.Error()}},
		"an error that looks like a cancellation": {work: func(context.Context) (string, error) {
			return "", context.Canceled
		}, isNot: orchestration.ErrCancelled, says: []string{context.Canceled.Error()}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				began := make(chan struct{}, 1)
				enginetest.Activity(r.T, r.activities, "work", func(ctx context.Context, _ string) (string, error) {
					began <- struct{}{}
					return c.work(ctx)
				})
				key := r.main(func(ctx *octx, _ none) (string, error) {
					scope, cancel := ctx.WithCancel()
					f := begin(scope, "work", "", orchestration.WithCancellation(orchestration.WaitForEnd))
					if c.cancel {
						if err := receive(ctx, "go on"); err != nil {
							return "", err
						}
						cancel()
					}
					return f.Get(ctx)
				})
				<-began
				if c.cancel {
					goOn(r, key)
				}
				got, err := enginetest.Result[string](r.engine, key, nil)
				if got != c.want || (err == nil) != (c.want != "") {
					r.T.Fatalf("got %q, %v", got, err)
				}
				if c.is != nil && !errors.Is(err, c.is) || c.isNot != nil && errors.Is(err, c.isNot) {
					r.T.Errorf("got %v", err)
				}
				for _, text := range c.says {
					if !strings.Contains(err.Error(), text) {
						r.T.Errorf("%q is not in %v", text, err)
					}
				}
				for _, own := range []error{orchestration.ErrCancelled, orchestration.ErrTimeout, orchestration.ErrPanic} {
					if !errors.Is(c.is, own) && errors.Is(err, own) {
						r.T.Errorf("it is %v, too: %v", own, err)
					}
				}
			})
		})
	}
}
